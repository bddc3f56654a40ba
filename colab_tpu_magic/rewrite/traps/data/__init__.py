"""The traps that data, its labels and its batches set, and those that the sizes of a model set."""

from __future__ import annotations

from ..base import Trap
from .host_loop import HostLoop
from .indivisible_batch import IndivisibleBatch
from .labels_one_hot import LabelsOneHot
from .labels_out_of_range import LabelsOutOfRange
from .not_a_number import NotANumber
from .python_feed import PythonFeed
from .rate_kept import RateKept
from .tile_padding import TilePadding
from .too_large_for_hbm import TooLargeForHbm

DATA_TRAPS: tuple[Trap, ...] = (
    TooLargeForHbm(),
    NotANumber(),
    LabelsOneHot(),
    LabelsOutOfRange(),
    RateKept(),
    IndivisibleBatch(),
    PythonFeed(),
    TilePadding(),
    HostLoop(),
)
