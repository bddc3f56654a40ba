"""Eager tf.RaggedTensor: rows padded with zeros to the longest, batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Conversion, Rows


class RaggedRows(Rows):
    """Rows of different lengths, each given as long as the longest.

    Args:
        values: The values of all rows in one line, ``(values, ...)``.
        splits: Where each row begins, and the end of the last: ``(rows + 1,)``.
    """

    def __init__(self, values: np.ndarray, splits: np.ndarray) -> None:
        lengths = np.diff(splits)
        longest = int(lengths.max()) if len(lengths) else 0
        super().__init__((len(lengths), longest, *values.shape[1:]), values.dtype)
        self.values, self.splits = values, splits

    def gather(self, rows: np.ndarray) -> np.ndarray:
        """Pad rows."""
        padded = np.zeros((len(rows), *self.shape[1:]), self.dtype)
        begins, lengths = self.splits[rows], self.splits[rows + 1] - self.splits[rows]
        column = np.arange(self.shape[1])
        there = column < lengths[:, None]
        padded[there] = self.values[(begins[:, None] + column)[there]]
        return padded


def read_ragged(leaf: Any, name: str) -> tuple[Any, Conversion] | None:
    """Return the rows of a ragged tensor."""
    if type(leaf).__name__ != "RaggedTensor" or not hasattr(leaf, "ragged_rank"):
        return None
    if leaf.ragged_rank == 1 and leaf.dtype.is_numpy_compatible and leaf.dtype.name != "string":
        rows: Any = RaggedRows(leaf.values.numpy(), leaf.row_splits.numpy())
    else:
        rows = leaf.to_tensor().numpy()
    longest = rows.shape[1] if rows.ndim > 1 else 0
    after = f"each padded with zeros to the longest, {longest:,}"
    return rows, Conversion(
        f"{name}: rows of different lengths (tf.RaggedTensor)", after, f"{name} = {name}.to_tensor()"
    )
