"""The slices a step can be planned for: what the compiler is asked for, and what its figures mean there."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from ..errors import OptionError, nearest
from ..hardware.chips import CHIPS, Chip
from ..hardware.slices import parse_slice
from .ici import ICI, Ici

GIB = 2**30
GHZ = 10**9


@dataclass(frozen=True)
class Silicon:
    """What libtpu's compiler takes one device of a generation to be.

    Attributes:
        clock_hz: Cycles in a second; the compiler tells cycles only.
        clock_source: How the clock is known.
        hbm_bytes: What the compiler lets one device use, read off its out-of-memory message (two decimals of GiB).
    """

    clock_hz: float
    clock_source: str
    hbm_bytes: int


_AGREES = "peak rate ÷ operations a cycle of the matrix units; the compiler's 8192³ product agrees"
_V5P = "inferred: 459 TFLOP/s ÷ 8 units of 128²; the compiler's 4096³ product has 96 % of their operations a cycle"
_V6E = (
    "inferred: 918 TFLOP/s ÷ 4 units of 256²; the compiler's 4096³ product has 87 % of their operations a cycle, more than "
    "three would have. Google's page has 2 units now and had 4 before"
)
_7X = (
    "inferred: half of 2,307 TFLOP/s ÷ 4 units of 256²; the compiler's 8192³ product has 81 % of their operations a cycle, "
    "more than three would have. Neither the clock nor the units are published"
)
HBM_SOURCE = "out-of-memory messages of libtpu 0.0.42.1, 2026-11"

SILICON: dict[str, Silicon] = {
    "v2": Silicon(0.70 * GHZ, _AGREES, int(7.48 * GIB)),
    "v3": Silicon(0.94 * GHZ, _AGREES, int(15.48 * GIB)),
    "v4": Silicon(1.05 * GHZ, _AGREES, int(30.75 * GIB)),
    "v5e": Silicon(1.50 * GHZ, _AGREES, int(15.75 * GIB)),
    "v5p": Silicon(1.75 * GHZ, _V5P, int(95.74 * GIB)),
    "v6e": Silicon(1.75 * GHZ, _V6E, int(31.25 * GIB)),
    "7x": Silicon(2.20 * GHZ, _7X, int(94.75 * GIB)),
}
"""Every generation's figures by the chip's name; the clock of 7x is the least certain."""


@dataclass(frozen=True)
class Target:
    """A slice that a step is compiled for.

    Attributes:
        name: How users write it: ``"v2-8"``.
        chip: The chip type.
        grid: Chips along each axis of the slice: ``(2, 2)``, ``(2, 2, 1)``.
        topology: What libtpu calls the slice: ``"v5e:2x4"``.
        topology_arguments: Further arguments of the topology call, name and value.
    """

    name: str
    chip: Chip
    grid: tuple[int, ...]
    topology: str
    topology_arguments: tuple[tuple[str, Any], ...] = ()

    @property
    def devices(self) -> int:
        """Devices that the step is divided over: 8 in v2-8, 4 in v4-8."""
        return prod(self.grid) * self.chip.devices_per_chip

    @property
    def clock_hz(self) -> float:
        """Cycles in a second."""
        return SILICON[self.chip.name].clock_hz

    @property
    def hbm_bytes(self) -> int:
        """Memory that the compiler allows on one device, bytes."""
        return SILICON[self.chip.name].hbm_bytes

    @property
    def peak_flops(self) -> float:
        """Peak bfloat16 operations a second of one device."""
        return self.chip.peak_bf16_tflops_per_device * 1e12

    @property
    def hbm_bytes_per_second(self) -> float:
        """Memory bandwidth of one device."""
        return self.chip.hbm_gb_per_s_per_device * 1e9

    @property
    def ici(self) -> Ici:
        """How the chips are wired."""
        return ICI[self.chip.name]

    @property
    def sources(self) -> dict[str, str]:
        """Where each figure is from, by the figure's name."""
        return {
            "clock": SILICON[self.chip.name].clock_source,
            "hbm": HBM_SOURCE,
            "peak": f"{self.chip.source}, {self.chip.as_of}",
            "hbm bandwidth": f"{self.chip.source}, {self.chip.as_of}",
            "interconnect": f"{self.ici.source}, {self.ici.as_of}",
        }


# Chips along each axis, by what users write after the dash. All were compiled for with libtpu 0.0.42.1.
_PLANE: dict[int, tuple[int, ...]] = {
    4: (2, 2),
    8: (2, 4),
    16: (4, 4),
    32: (4, 8),
    64: (8, 8),
    128: (8, 16),
    256: (16, 16),
}
_CUBE: dict[int, tuple[int, ...]] = {8: (2, 2, 1), 16: (2, 2, 2), 32: (2, 2, 4), 64: (2, 4, 4), 128: (4, 4, 4)}
_GRIDS: dict[str, dict[int, tuple[int, ...]]] = {
    "v2": {8: (2, 2), 32: (4, 4), 128: (8, 8), 256: (8, 16), 512: (16, 16)},
    "v3": {8: (2, 2), 32: (4, 4), 128: (8, 8), 256: (8, 16), 512: (16, 16)},
    "v4": _CUBE,
    "v5e": {1: (1, 1), **_PLANE},
    "v5p": _CUBE,
    "v6e": {1: (1, 1), **_PLANE},
    "7x": {8: (2, 2, 1)},
}


def _target(chip: Chip, count: int, grid: tuple[int, ...]) -> Target:
    name = parse_slice(f"{chip.name}-{count}").name
    prefix = "tpu7x" if chip.name == "7x" else chip.name
    arguments: dict[str, Any] = {}
    if prod(grid) == 1:
        arguments = {"chips_per_host_bounds": (1, 1, 1), "num_slices": 1}
    elif grid == (2, 4):
        arguments = {"chips_per_host_bounds": (2, 4, 1)}
    if chip.name == "v4":  # both cores of a chip work as one device, as JAX and TensorFlow show them
        arguments["chip_config_name"] = "megacore"
    return Target(name, chip, grid, f"{prefix}:{'x'.join(map(str, grid))}", tuple(arguments.items()))


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (_target(CHIPS[chip], count, grid) for chip, grids in _GRIDS.items() for count, grid in grids.items())
}
"""Every target by its name, oldest chip first."""


def target(name: str) -> Target:
    """Return the target that a slice's name stands for, in any case, Cloud's long names too.

    Raises:
        OptionError: When there is no such slice, or the compiler is not asked for it; lists the known.

    Example:
        >>> target("v5litepod-8").topology
        'v5e:2x4'
        >>> target("v4-8").devices
        4
    """
    try:
        known = parse_slice(name).name
    except OptionError:
        known = ""
    if known in TARGETS:
        return TARGETS[known]
    raise OptionError(
        f"Target {name!r} is not one that can be planned for.",
        expected="one of " + ", ".join(TARGETS) + ".",
        type_next=f"%tpu_plan model x y --target {nearest(name, list(TARGETS))}",
    )
