"""Trap ``nan-data``: numbers in the data that are none."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...finding import Finding
from ...prepared import PreparedFit
from ...sources import ArraySource, Source
from ..base import Trap

if TYPE_CHECKING:
    from ....backends.base import Runtime

MOST_BYTES = 32 * 2**20
"""Bytes of an array that are looked at before each fit, some 10 ms; of a larger one, blocks spread over all rows."""
MOST_BYTES_OF_A_CHECK = 2 * 2**30
BLOCKS = 64
PARTS = ("x", "y", "sample_weight")


class NotANumber(Trap):
    """One NaN in one row makes the loss NaN, the loss makes every weight NaN, and no later row undoes it.

    Infinite values do the same one step later. They come from a division by a standard deviation of zero, a
    logarithm of zero, or an empty field of a CSV file.
    """

    id = "nan-data"
    title = "Data that is not a number"
    source = "tensorflow#86953, tensorflow#41635"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Look for NaN and infinity in the arrays of training and validation, in a share of them where they are large."""
        return self.search(prepared, MOST_BYTES)

    def search(self, prepared: PreparedFit, most_bytes: int) -> list[Finding]:
        """Look for the same in at most so many bytes of each array."""
        found = []
        for where, data in (("", prepared.request.data), (" of the validation data", prepared.request.validation)):
            for name, row in _bad_rows(data, most_bytes):
                clean = f"numpy.nan_to_num({name})" if not where else f"numpy.isfinite({name}).all()"
                message = f"{name}{where} holds NaN or infinity, first in row {row:,}: the loss will be NaN from that batch on."
                found.append(self.finding("error", message, f"{name} = {clean}" if not where else clean))
        return found


def _bad_rows(data: Source | None, most_bytes: int) -> list[tuple[str, int]]:
    """Return (part, row) for the first bad row of each part of arrays; nothing for a stream."""
    import keras

    if not isinstance(data, ArraySource):
        return []
    bad = []
    for name, part in zip(PARTS, data.tree):
        rows = [row for leaf in keras.tree.flatten(part) if (row := first_bad_row(leaf, most_bytes)) is not None]
        if rows:
            bad.append((name, min(rows)))
    return bad


def first_bad_row(array: Any, most_bytes: int = MOST_BYTES) -> int | None:
    """Return the first row with NaN or infinity, None when none was met.

    Example:
        >>> first_bad_row(np.array([[1.0], [np.nan]])), first_bad_row(np.array([1, 2]))
        (1, None)
    """
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or not array.size:
        return None
    rows = len(array)
    if array.nbytes <= most_bytes:
        return _in_block(array, 0)
    take = max(1, int(rows * most_bytes / array.nbytes / BLOCKS))
    starts = np.linspace(0, rows - take, BLOCKS).astype(int)
    return next(
        (row for start in starts if (row := _in_block(array[start : start + take], int(start))) is not None), None
    )


def _in_block(block: np.ndarray, first: int) -> int | None:
    with np.errstate(all="ignore"):
        total = float(block.sum(dtype=np.float64 if block.dtype.itemsize < 4 else None))
    if math.isfinite(total):
        return None  # the sum of numbers of which one is NaN or infinite is neither: one pass, no second array
    bad = ~np.isfinite(block.reshape(len(block), -1)).all(axis=1)
    return first + int(bad.argmax()) if bad.any() else None
