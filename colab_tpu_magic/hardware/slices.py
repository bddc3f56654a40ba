"""Slice names: a chip type and a count, read the way users write them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import OptionError
from .chips import CHIPS, Chip

# "-8" is 8 TensorCores on these and 8 chips on v5e and v6e: docs.cloud.google.com/tpu/docs/{v4,v5e,v5p,v6e},
# checked 2026-11; for tpu7x the pages give topologies only, and Google's tool xpk counts cores.
COUNTED_IN_CORES = frozenset({"v2", "v3", "v4", "v5p", "7x"})
# How a slice of this chip is written, where it is not the chip's own name.
WRITTEN = {"7x": "tpu7x"}
OTHER_NAMES = {"v5lite": "v5e", "v5litepod": "v5e", "tpu7x": "7x", "v7x": "7x"}
EXAMPLES = "a chip type and a count, such as v2-8, v3-8, v4-8, v5e-1, v5e-8, v5p-8, v6e-1 or tpu7x-8."

MAX_REPLICAS = 256
"""Largest number of simulated replicas."""

PER_REPLICA_BATCH = 128
BATCH_SOURCE = (
    "Cloud TPU performance guide (docs.cloud.google.com/tpu/docs/performance-guide): arrays are tiled "
    "8 × 128, so a multiple of 128 on each replica wastes no padding."
)


@dataclass(frozen=True)
class Slice:
    """A chip type and a count.

    Attributes:
        chip: The chip type.
        count: The number after the dash: TensorCores on v2, v3, v4, v5p and 7x, chips on v5e and v6e.
    """

    chip: Chip
    count: int

    @property
    def name(self) -> str:
        """How users write it: ``"v2-8"``."""
        return f"{WRITTEN.get(self.chip.name, self.chip.name)}-{self.count}"

    @property
    def chips(self) -> int:
        """Chips in the slice: 4 in v2-8 and v4-8, 8 in v5e-8."""
        return self.count // _counted_per_chip(self.chip)

    @property
    def replicas(self) -> int:
        """Devices that run the step: 8 in v2-8, 4 in v4-8, 8 in v5e-8."""
        return self.chips * self.chip.devices_per_chip

    @property
    def recommended_per_replica_batch(self) -> int:
        """Rows for each replica that fill the tiles of its matrix units."""
        return PER_REPLICA_BATCH

    @property
    def recommended_global_batch(self) -> int:
        """Rows for all replicas together."""
        return PER_REPLICA_BATCH * self.replicas

    @property
    def recommendation_source(self) -> str:
        """Where the recommended batch sizes are from."""
        return BATCH_SOURCE

    def __str__(self) -> str:
        return self.name


def parse_slice(text: str) -> Slice:
    """Return the slice that a name stands for, in any case, Cloud's long names too.

    Args:
        text: ``"v2-8"``, ``"v5e-1"``, ``"v5litepod-4"``, ``"TPU7x-8"``, …

    Raises:
        OptionError: When there is no such chip, or no whole number of chips has that count.

    Example:
        >>> parse_slice("v5litepod-4").name
        'v5e-4'
        >>> parse_slice("v4-8").replicas
        4
    """
    typed = text.strip().lower()
    match = re.fullmatch(r"([a-z0-9]+)-([0-9]+)", typed)
    if match is None:
        # A chip without a count is the likeliest slip: "v5e" for "v5e-1".
        known = CHIPS.get(OTHER_NAMES.get(typed, typed))
        raise _not_a_slice(text, "has no count" if known else "is not a slice name", _smallest(known))
    word, digits = match.groups()
    chip = CHIPS.get(OTHER_NAMES.get(word, word))
    if chip is None:
        raise _not_a_slice(text, f"names no TPU that is known ({', '.join(CHIPS)})", "v2-8")
    count, step = int(digits), _counted_per_chip(chip)
    if count < 1 or count % step:
        why = (
            "has no chip in it"
            if count < 1
            else f"is not a whole number of chips: a {chip.name} chip has {step} TensorCores"
        )
        raise _not_a_slice(text, why, Slice(chip, max(step, count // step * step)).name)
    return Slice(chip, count)


def parse_replicas(simulate: str | int) -> tuple[Slice | None, int]:
    """Return the slice, if one is named, and the number of replicas to simulate.

    Raises:
        OptionError: When it is neither a slice nor a whole number from 1 to 256.

    Example:
        >>> parse_replicas("v5e-4")[1], parse_replicas("3")
        (4, (None, 3))
    """
    text = str(simulate).strip()
    if isinstance(simulate, str) and not re.fullmatch(r"[-+]?[\d.]+", text):
        named = parse_slice(text)
        if named.replicas <= MAX_REPLICAS:
            return named, named.replicas
        text = f"{named.name} ({named.replicas} replicas)"
    elif not isinstance(simulate, bool) and text.isdecimal() and 1 <= int(text) <= MAX_REPLICAS:
        return None, int(text)
    raise OptionError(
        f"--simulate {text} cannot be used.",
        expected=f"a slice such as v2-8, or a whole number of replicas from 1 to {MAX_REPLICAS}.",
        type_next="%tpu_connect --simulate 8",
    )


def slice_for(chip: Chip, devices: int) -> Slice:
    """Return the slice whose chips show this many devices.

    Args:
        chip: The chip type.
        devices: Devices that JAX or TensorFlow sees; half a chip counts as one chip.

    Raises:
        ValueError: When ``devices`` is less than one.

    Example:
        >>> slice_for(CHIPS["v2"], 8).name
        'v2-8'
        >>> slice_for(CHIPS["v4"], 4).name
        'v4-8'
    """
    if devices < 1:
        raise ValueError(f"A slice has one device at least, not {devices}.")
    chips = -(-devices // chip.devices_per_chip)
    return Slice(chip, chips * _counted_per_chip(chip))


def _counted_per_chip(chip: Chip) -> int:
    """Return what one chip adds to the number after the dash."""
    return chip.cores_per_chip if chip.name in COUNTED_IN_CORES else 1


def _smallest(chip: Chip | None) -> str:
    return slice_for(chip, 1).name if chip is not None else "v2-8"


def _not_a_slice(text: str, why: str, instead: str) -> OptionError:
    return OptionError(f"Slice {text!r} {why}.", expected=EXAMPLES, type_next=f"%tpu_connect --simulate {instead}")
