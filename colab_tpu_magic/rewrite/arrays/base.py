"""Rows that are made into a NumPy array only when a batch asks for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Conversion:
    """Say what data was, and what the device gets instead.

    Attributes:
        before: What it was, for people: ``"x: sparse rows (csr_matrix)"``.
        after: What becomes of it: ``"each batch made dense as it is gathered"``.
        by_hand: The line with which the user makes it so beforehand.
    """

    before: str
    after: str
    by_hand: str


class Rows:
    """An array as far as a batch needs one: a shape, a dtype, and rows by slice or by number.

    Whoever inherits says in `gather` how rows become an array. Slices and `take` give NumPy arrays,
    as those of an array do, and `numpy.take` works on it; `part` gives rows without making them.

    Args:
        shape: ``(rows, ...)``.
        dtype: Dtype of the arrays that are made.
        start: First row of the data behind it that belongs to this part.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any, start: int = 0) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.start = start

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape))

    @property
    def nbytes(self) -> int:
        """Bytes that all rows would take as an array."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return the rows of a slice as an array."""
        first, stop, step = rows.indices(len(self))
        return self.gather(np.arange(first, stop, step) + self.start)

    def take(self, indices: Any, axis: int = 0, out: np.ndarray | None = None, mode: str = "raise") -> np.ndarray:
        """Return rows by number as an array, or write them into one.

        Raises:
            IndexError: When a number is not that of a row.
        """
        indices = np.asarray(indices)
        if axis != 0:
            raise ValueError("only rows can be taken, axis=0")
        if indices.size and (indices.min() < -len(self) or indices.max() >= len(self)):
            raise IndexError(f"row {int(indices.max())} of {len(self)}")
        taken = self.gather(np.where(indices < 0, indices + len(self), indices) + self.start)
        if out is None:
            return taken
        out[...] = taken
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return all rows as an array."""
        return self[:] if dtype is None else self[:].astype(dtype)

    def part(self, start: int, stop: int) -> Rows:
        """Return rows ``start`` to ``stop`` without making them."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.shape = (stop - start, *self.shape[1:])
        other.start = self.start + start
        return other

    def gather(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of the data behind it, by number from 0, as an array of `dtype`."""
        raise NotImplementedError


def part_of(leaf: Any, start: int, stop: int) -> Any:
    """Return rows ``start`` to ``stop`` of an array or of `Rows`, without a copy.

    Example:
        >>> part_of(np.arange(6), 2, 4)
        array([2, 3])
    """
    return leaf.part(start, stop) if isinstance(leaf, Rows) else leaf[start:stop]
