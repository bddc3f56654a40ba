"""What both backends hand back: the step as text, and what its arguments are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..module import Argument


@dataclass(frozen=True)
class Step:
    """A training step as the backend wrote it, for one device.

    Attributes:
        text: StableHLO with locations.
        arguments: What the arguments of its ``main`` are, in order.
        aliases: For each donated argument's place the place of the output that takes its memory.
        remarks: Sentences about what it does otherwise than the user's fit.
    """

    text: str
    arguments: tuple[Argument, ...]
    aliases: Mapping[int, int]
    remarks: tuple[str, ...] = ()
