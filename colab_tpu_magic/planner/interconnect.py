"""What collectives take on a slice: a stated model, for the compiler estimates none of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .results import Unestimated
from .targets import Target

HOP_SECONDS = 1e-6
"""Time from one chip to the next: about a microsecond (jax-ml.github.io/scaling-book/sharding, 2026-11).

The same page measured 8 µs for three hops, and 0.68 ms for a gathering that this model has at 0.50 ms (docs/plan-truth.md).
"""

# What each chip sends, as a multiple of the payload; n is the number of chips.
_SENT = {
    "all-reduce": (2.0, "2·(n−1)/n"),  # added up in n parts on the way round, then handed round
    "reduce-scatter": (1.0, "(n−1)/n"),
    "all-gather": (1.0, "(n−1)/n"),
    "all-to-all": (1.0, "(n−1)/n"),
    "collective-permute": (1.0, "(n−1)/n"),
    "collective-broadcast": (1.0, "(n−1)/n"),
}


@dataclass(frozen=True)
class CollectiveTime:
    """What one kind of collective takes in a step, by the model. Not measured, and not the compiler's.

    Attributes:
        opcode: ``"all-reduce"``, …
        payload_bytes: Bytes of all their results in a step on one device.
        runs: How often a step runs one.
        transfer_seconds: Time of the payload on the links.
        latency_seconds: Time of the hops.
        local_seconds: Time in which the devices of a chip add up or hand over through their memory.
        model: The formula with its figures, and where they are from.
    """

    opcode: str
    payload_bytes: int
    runs: float
    transfer_seconds: float
    latency_seconds: float
    local_seconds: float
    model: str

    @property
    def seconds(self) -> float:
        """All of it. Where the compiler lets it run beside computation, less is seen of it."""
        return self.transfer_seconds + self.latency_seconds + self.local_seconds


def rings(target: Target) -> tuple[bool, ...]:
    """Return of each axis of a slice whether its two ends are wired to each other.

    On three axes it takes a whole cube: a slice of 2 × 2 × 4 has no such wires.

    Example:
        >>> from .targets import target
        >>> rings(target("v5e-128")), rings(target("v4-32"))
        ((False, True), (False, False, False))
    """
    long = tuple(size >= target.ici.ring_from for size in target.grid)
    return long if target.ici.axes == 2 or all(long) else (False,) * len(long)


def links_used(target: Target) -> int:
    """Return the links over which every chip of a slice can send at once.

    A chip at the corner of a grid has one link along each axis; along an axis whose ends are wired to each
    other every chip has two.

    Example:
        >>> from .targets import target
        >>> links_used(target("v5e-1")), links_used(target("v5e-4")), links_used(target("v5e-256"))
        (0, 2, 4)
    """
    return sum(0 if size == 1 else 2 if ring else 1 for size, ring in zip(target.grid, rings(target), strict=True))


def hops(target: Target) -> int:
    """Return the hops of one way round: along each axis to its far end, half as far on a ring."""
    return sum(size // 2 if ring else size - 1 for size, ring in zip(target.grid, rings(target), strict=True))


def collective_time(opcode: str, payload_bytes: int, runs: float, target: Target) -> CollectiveTime:
    """Return what a kind of collective takes in a step on a slice.

    Args:
        opcode: A collective's opcode.
        payload_bytes: Bytes of all their results in a step on one device.
        runs: How often a step runs one.
        target: The slice.

    Raises:
        ValueError: When the opcode is no collective's.

    Example:
        >>> from .targets import target
        >>> f"{collective_time('all-reduce', 100_000_000, 1, target('v5e-4')).transfer_seconds * 1e3:.2f} ms"
        '1.50 ms'
    """
    if opcode not in _SENT:
        raise ValueError(f"{opcode!r} is no collective; known are {', '.join(_SENT)}.")
    factor, formula = _SENT[opcode]
    chips = target.devices // target.chip.devices_per_chip
    links, bandwidth = links_used(target), target.ici.link_bytes_per_second
    transfer = factor * (chips - 1) / chips * payload_bytes / (links * bandwidth) if links else 0.0
    latency = runs * factor * hops(target) * HOP_SECONDS
    # The devices of a chip share its links: one writes, the other reads, and back.
    shared = target.chip.devices_per_chip - 1
    local = shared * factor * payload_bytes / target.hbm_bytes_per_second
    model = (
        f"{formula} × payload ÷ ({links} links × {bandwidth / 1e9:g} GB/s each way), n = {chips} chips;"
        f" {HOP_SECONDS * 1e6:g} µs a hop; {target.ici.source}, {target.ici.as_of}"
        if links
        else "One chip: nothing is sent between chips."
    )
    if shared:
        model += "; the devices of a chip exchange through its memory"
    return CollectiveTime(opcode, payload_bytes, runs, transfer, latency, local, model)


def collective_times(unestimated: Iterable[Unestimated], target: Target) -> tuple[CollectiveTime, ...]:
    """Return what the collectives of a compiled step take, one entry a kind; the other instructions are left out."""
    sums: dict[str, tuple[int, float]] = {}
    for one in unestimated:
        if one.opcode in _SENT:
            size, runs = sums.get(one.opcode, (0, 0.0))
            sums[one.opcode] = (size + one.bytes, runs + one.runs)
    return tuple(collective_time(opcode, size, runs, target) for opcode, (size, runs) in sums.items())
