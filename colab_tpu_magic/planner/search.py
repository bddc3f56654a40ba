"""Choose which batch sizes to compile: a few for the curve, then the largest that fits, by bisection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..rewrite.rules.batch_size import TILE_ROWS
from .plan import CurvePoint
from .row import Row

SPREAD = (0.25, 1.0, 4.0)
"""The sizes of a curve, as multiples of what ``%%tpu_fit`` would choose."""
FINENESS = 32
"""The largest batch is searched to within this part of it, but no finer than the devices' tiles."""
GROWTH, LEAST_GROWTH, MOST_GROWTH = 16.0, 1.5, 1024.0
STRAIGHT_PROBES = 4
"""Sizes that are tried along a straight line before the middle is tried too."""
MOST_PROBES = 16
"""Sizes that are tried for the largest at most; what is left open then is said."""


def default_sizes(chosen: int, devices: int, rows: int | None = None) -> tuple[int, ...]:
    """Return the batch sizes that are compiled when nobody says which: the chosen one first, then by size.

    Args:
        chosen: What the rule ``batch-size`` would choose.
        devices: Devices that the batch is divided over.
        rows: Rows there are, or None when unknown.

    Example:
        >>> default_sizes(1024, 8, 60_000)
        (1024, 256, 4096)
    """
    tile = devices * TILE_ROWS
    most = None if rows is None else max(rows // devices * devices, devices)
    sizes = []
    for factor in SPREAD:
        size = max(tile, round(chosen * factor / tile) * tile) if factor != 1.0 else chosen
        sizes.append(size if most is None or factor == 1.0 else min(size, most))
    return tuple(dict.fromkeys([chosen, *sorted(sizes)]))


def granule(batch_size: int, devices: int) -> int:
    """Return the step in which the largest batch is searched: devices × 8, doubled while it stays below a 32nd.

    Example:
        >>> granule(1024, 8), granule(100_000, 8)
        (64, 2048)
    """
    step = devices * TILE_ROWS
    while step * 2 * FINENESS <= batch_size:
        step *= 2
    return step


SECONDS_PER_KIB = 0.5
"""What a compile takes for each KiB of its module, roughly: 8 s for a small CNN (17), 130 s for a ResNet50 (270)."""


@dataclass
class CurveSearch:
    """Which sizes one target and precision is compiled for. Deterministic: the same answers give the same questions.

    Args:
        sizes: Sizes of the curve, in the order in which they are wanted.
        devices: Devices that the batch is divided over.
        most: Rows there are: no larger batch makes sense. None when unknown.
        to_the_largest: Whether the largest batch that fits is searched for beyond the sizes given; below one that
            does not fit it is searched for in any case.
        allowed_bytes: Memory that one device has.
    """

    sizes: Sequence[int]
    devices: int = 1
    most: int | None = None
    to_the_largest: bool = True
    allowed_bytes: int = 0
    fitting: dict[int, int] = field(default_factory=dict)
    full: dict[int, int] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)
    skipped: set[int] = field(default_factory=set)
    asked: list[int] = field(default_factory=list)
    probes: int = 0
    ended: bool = False

    def next(self) -> int | None:
        """Return the size to compile next; None when there is none, or answers must come first."""
        if self.ended:
            return None
        for size in self.sizes:
            if size not in self.asked and not self._beyond(size):
                self.asked.append(size)
                return size
        if not self.searching or self.waiting:
            return None
        probe = self._probe()
        if probe is None:
            return None
        self.asked.append(probe)
        self.probes += 1
        return probe

    def tell(self, row: Row) -> None:
        """Take the answer for a size that was asked for."""
        size = row.batch_size
        if row.fits:
            self.fitting[size] = row.needed_bytes
        elif row.status == "out-of-memory":
            self.full[size] = row.needed_bytes
            self.allowed_bytes = row.allowed_bytes or self.allowed_bytes
        else:
            self.refused.add(size)

    def skip(self, size: int) -> None:
        """Take that a size cannot be asked for at all: it does not divide over the devices."""
        self.skipped.add(size)

    def stop(self) -> None:
        """Ask for nothing more."""
        self.ended = True

    @property
    def waiting(self) -> bool:
        """Whether something was asked for that was not answered."""
        return len(self.asked) > sum(map(len, (self.fitting, self.full, self.refused, self.skipped)))

    @property
    def done(self) -> bool:
        """Whether everything that was wanted is known."""
        if self.waiting or self.ended:
            return self.ended
        if any(size not in self.asked and not self._beyond(size) for size in self.sizes):
            return False
        return not self.searching or self._probe() is None

    @property
    def searching(self) -> bool:
        """Whether sizes beyond those given are tried."""
        return (self.to_the_largest or bool(self.full)) and not self.refused and self.probes < MOST_PROBES

    @property
    def remaining(self) -> int:
        """Compiles that are still expected, a guess."""
        left = sum(size not in self.asked and not self._beyond(size) for size in self.sizes)
        if self.searching and not self.ended:
            left += 0 if self.done else max(1, 3 - self.probes)
        return left

    @property
    def largest(self) -> int | None:
        """The largest size that is known to fit, where the search came to its end."""
        found = (self.to_the_largest or self.full) and not self.refused and not self.ended and self.done
        return max(self.fitting, default=None) if found else None

    @property
    def first_full(self) -> int | None:
        """The smallest size that is known not to fit."""
        return min(self.full, default=None)

    def _beyond(self, size: int) -> bool:
        return bool(self.full) and size >= min(self.full)

    def _probe(self) -> int | None:
        """Return the next size on the way to the largest; None when it is found."""
        low, high = max(self.fitting, default=0), self.first_full
        step = granule(low, self.devices)
        most = None if self.most is None else self.most // self.devices * self.devices
        if high is None:
            if most is not None and low >= most:
                return None
            guess = min(self._expected() or low * GROWTH, low * MOST_GROWTH)
            size = _down(max(guess, low * LEAST_GROWTH, low + step), granule(int(guess), self.devices))
            return size if most is None or size < most else most
        if high - low <= step:
            return None
        expected = self._expected()
        # Where the straight line has not closed in by now, the middle does.
        bent = self.probes >= STRAIGHT_PROBES and self.probes % 2 == 1
        guess = (low + high) / 2 if expected is None or bent else expected
        size = _down(guess, granule(int(guess), self.devices))
        if size <= low:
            size = _down(low, step) + step
        return min(size, _below(high, step))

    def _expected(self) -> float | None:
        """Return the size at which the memory is expected to be full: a straight line through the nearest two."""
        known = sorted({**self.fitting, **{size: needed for size, needed in self.full.items() if needed}}.items())
        if len(known) < 2 or not self.allowed_bytes:
            return None
        above = next((place for place, (_, needed) in enumerate(known) if needed > self.allowed_bytes), len(known) - 1)
        (one, one_bytes), (two, two_bytes) = known[max(0, above - 1)], known[max(1, above)]
        if two_bytes <= one_bytes:
            return None
        return one + (self.allowed_bytes - one_bytes) * (two - one) / (two_bytes - one_bytes)


def _down(size: float, step: int) -> int:
    return max(step, int(size) // step * step)


def _below(size: int, step: int) -> int:
    """Return the largest multiple of a step below a size."""
    return max(step, (size - 1) // step * step)


def interpolated(rows: Iterable[Row], devices: int) -> tuple[CurvePoint, ...]:
    """Return a curve through the rows that fit: those, and powers of two between them.

    Between two sizes the time of a step is taken to grow in a straight line, as work and padding do.
    """
    known = {row.batch_size: row.speed for row in rows if row.fits and row.speed > 0}
    sizes = sorted(known)
    points = [CurvePoint(size, known[size], True) for size in sizes]
    for low, high in zip(sizes, sizes[1:]):
        slow, long = low / known[low], high / known[high]
        size = devices * TILE_ROWS
        while size < high:
            if size > low:
                seconds = slow + (long - slow) * (size - low) / (high - low)
                points.append(CurvePoint(size, size / seconds, False))
            size *= 2
    return tuple(sorted(points, key=lambda point: point.batch_size))


@dataclass(frozen=True)
class Pace:
    """How long compiles take, learned from those of this plan.

    Attributes:
        seconds: Of each compile of a step that fits, in order.
    """

    seconds: tuple[float, ...] = ()

    def but(self, row: Row) -> Pace:
        """Return the pace with one more row."""
        return self if row.cached or not row.compile_seconds else Pace((*self.seconds, row.compile_seconds))

    def each(self, artifact_bytes: int = 0) -> float:
        """Return the seconds that the next compile is expected to take.

        Before the first, it is guessed from the size of the module: half a second for each KiB.
        """
        if self.seconds:
            return max(self.seconds[-1], sum(self.seconds) / len(self.seconds))
        return max(2.0, SECONDS_PER_KIB * artifact_bytes / 1024)
