"""Wide integers that are read from a file or made batch by batch: looked at in each batch, never all at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DataError
from .base import Rows

INT32 = np.iinfo(np.int32)


def too_wide(low: int, high: int) -> DataError | None:
    """Return what to say when a range of integers does not fit in 32 bits, else None."""
    if low >= INT32.min and high <= INT32.max:
        return None
    return DataError(
        f"The data holds {low if low < INT32.min else high}, which does not fit in 32 bits.",
        expected=f"integers from {INT32.min} to {INT32.max}: a TPU has no 64-bit integers.",
        type_next="ids, x = numpy.unique(x, return_inverse=True)",
    )


class NarrowedRows(Rows):
    """Rows of wide integers as int32.

    Args:
        leaf: A `numpy.memmap`, or other `Rows`.
    """

    def __init__(self, leaf: Any) -> None:
        super().__init__(leaf.shape, np.int32)
        self.leaf = leaf

    def gather(self, rows: np.ndarray) -> np.ndarray:
        """Cast rows.

        Raises:
            DataError: When one does not fit.
        """
        taken = self.leaf.take(rows, axis=0)
        error = too_wide(int(taken.min()), int(taken.max())) if taken.size else None
        if error is not None:
            raise error
        return taken.astype(np.int32)


def is_read_late(leaf: Any) -> bool:
    """Return whether looking at all of an array would read a file or make every row."""
    while isinstance(leaf, np.ndarray):
        if isinstance(leaf, np.memmap):
            return True
        leaf = leaf.base
    return isinstance(leaf, Rows)
