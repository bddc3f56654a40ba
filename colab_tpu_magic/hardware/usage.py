"""What the accelerator says of its memory and its work while it trains, read from libtpu's metrics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Usage:
    """One reading of all chips.

    Attributes:
        hbm_used_bytes: HBM in use on the fullest chip.
        hbm_total_bytes: HBM of that chip.
        tensorcore_percent: Mean share of the time that the TensorCores worked, 0 to 100; None when not told.
    """

    hbm_used_bytes: int
    hbm_total_bytes: int
    tensorcore_percent: float | None = None
