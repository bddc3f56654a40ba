"""Gather the rows of a batch out of arrays in one copy, into memory that is used again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from .buffers import Ring, places

if TYPE_CHECKING:
    from .sources import ArraySource, Batch

# Rows that are cast go through a piece that stays in a core's own cache.
PIECE_BYTES = 1 << 18
# Small batches are gathered several in one go, as many as fit a piece.
MOST_AT_ONCE = 32
# Large ones are gathered by several threads together, each such a part at a time: about 0.2 ms of work.
PART_BYTES = 1 << 21
# Where a backend takes several batches at a time, because handing it one costs more than gathering a small one: one
# block is being read while the next is gathered, and a third would cost processor time in its caches and win nothing.
BLOCK_BYTES = 1 << 24
BLOCKS = 2


@dataclass(frozen=True)
class Leaf:
    """One array of a source, and what its rows become.

    Attributes:
        array: ``(rows, ...)``.
        dtype: What a batch holds.
        row_bytes: Bytes of a row in a batch.
        direct: Whether rows can be copied as they lie in memory.
    """

    array: Any
    dtype: np.dtype
    row_bytes: int
    direct: bool

    @classmethod
    def of(cls, array: Any, dtype: np.dtype | None) -> Leaf:
        """Read an array; None leaves its dtype."""
        target = np.dtype(array.dtype if dtype is None else dtype)
        plain = isinstance(array, np.ndarray)
        # np.take would first copy a whole array that is not contiguous.
        direct = plain and target == array.dtype and array.flags.c_contiguous and array.flags.aligned
        row_bytes = target.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
        return cls(np.asarray(array) if plain else array, target, row_bytes, direct)

    def gather(self, index: np.ndarray, out: np.ndarray) -> None:
        """Copy the rows of an index array into ``out``, ``(len(index), ...)``, cast where need be."""
        if self.direct:
            # mode="raise" would gather into a second array first; the index is our own.
            np.take(self.array, index, axis=0, out=out, mode="clip")
            return
        step = max(1, PIECE_BYTES // max(1, self.row_bytes))
        for start in range(0, len(index), step):
            piece = index[start : start + step]
            np.copyto(out[start : start + step], self.array.take(piece, axis=0), casting="unsafe")


@dataclass
class Job:
    """Batches that are being gathered, part by part.

    Attributes:
        leaves: What they are gathered from.
        index: Their rows, ``(rows,)``.
        arrays: Where each leaf's rows go, ``(rows, ...)``.
        batches: The batches, or the one block of them, which lie in those arrays.
        parts: Where a part of the rows begins and ends, of those that nobody has begun.
        left: Parts that are not finished.
    """

    leaves: list[Leaf]
    index: np.ndarray
    arrays: list[np.ndarray]
    batches: list[Batch]
    parts: list[slice]
    left: int

    def gather(self, part: slice) -> None:
        """Gather the rows of a part."""
        for leaf, array in zip(self.leaves, self.arrays, strict=True):
            leaf.gather(self.index[part], array[part])


@dataclass(frozen=True)
class Layout:
    """How so many rows lie in one piece of memory.

    Attributes:
        bytes: What they take.
        arrays: Shape, dtype and first byte of each leaf's rows.
        parts: What is gathered at a time, the last rows first.
    """

    bytes: int
    arrays: tuple[tuple[tuple[int, ...], np.dtype, int], ...]
    parts: tuple[slice, ...]

    @classmethod
    def of(cls, leaves: list[Leaf], rows: int) -> Layout:
        """Lay out so many rows of leaves."""
        starts, end = places([rows * leaf.row_bytes for leaf in leaves])
        count = max(1, min(end // PART_BYTES, rows))
        ends = [rows * at // count for at in range(count + 1)]
        arrays = [
            ((rows, *leaf.array.shape[1:]), leaf.dtype, start) for leaf, start in zip(leaves, starts, strict=True)
        ]
        return cls(end, tuple(arrays), tuple(slice(start, stop) for start, stop in zip(ends, ends[1:]))[::-1])


class Gathered:
    """The batches of a source in the order of index arrays: an iterator that several threads can share.

    Args:
        source: Arrays.
        indices: Yields int arrays ``(batch,)``, the rows of each batch.
        ring: Where the batches lie.

    Attributes:
        block: Batches of the same size to give as one, ``(block, rows, ...)``, the last block smaller; 0 for each alone.

    Example:
        >>> from colab_tpu_magic.rewrite.sources import ArraySource
        >>> source = ArraySource((np.arange(4.0),), 4)
        >>> next(Gathered(source, iter([np.array([3, 1])])))
        (array([3., 1.]),)
    """

    def __init__(self, source: ArraySource, indices: Iterator[np.ndarray], ring: Ring | None = None) -> None:
        import keras

        leaves = keras.tree.flatten(source.tree)
        dtypes = source.dtypes or (None,) * len(leaves)
        self.leaves = [Leaf.of(leaf, dtype) for leaf, dtype in zip(leaves, dtypes, strict=True)]
        self.indices = indices
        self.ring = Ring() if ring is None else ring
        self.block = 0
        self._layouts: dict[int, Layout] = {}
        self._pack = _packer(source.tree)
        self._direct = all(leaf.direct for leaf in self.leaves)

    def __iter__(self) -> Iterator[Batch]:
        """Return itself."""
        return self

    def __next__(self) -> Batch:
        """Return the next batch, gathered here and now."""
        indices = [next(self.indices), *islice(self.indices, max(0, self.block - 1))]
        while (memory := self.ring.lend(self.bytes_of(sum(map(len, indices))))) is None:
            self.ring.grow()
        job = self.job(indices, memory)
        job.gather(slice(None))
        return job.batches[0]

    def give_blocks(self, block: int) -> None:
        """Give blocks of so many batches, which lie in fewer pieces of memory, until more are asked for."""
        self.block, self.ring = block, Ring(BLOCKS)

    def next_indices(self) -> list[np.ndarray]:
        """Return the index arrays of the batches to be gathered next in one go; an empty list at the end."""
        first = next(self.indices, None)
        if first is None:
            return []
        more = self.block
        if not more and self._direct:
            more = min(PIECE_BYTES // max(1, self.bytes_of(len(first))), MOST_AT_ONCE)
        return [first, *islice(self.indices, more - 1)] if more > 1 else [first]

    def bytes_of(self, rows: int) -> int:
        """Return the bytes that so many rows take."""
        return self._layout(rows).bytes

    def _layout(self, rows: int) -> Layout:
        if rows not in self._layouts:
            self._layouts[rows] = Layout.of(self.leaves, rows)
        return self._layouts[rows]

    def job(self, indices: list[np.ndarray], memory: np.ndarray) -> Job:
        """Return what is to be done for batches that will lie in lent memory."""
        index = indices[0] if len(indices) == 1 else np.concatenate(indices)
        layout = self._layout(len(index))
        arrays = [np.ndarray(shape, dtype, memory, start) for shape, dtype, start in layout.arrays]
        return Job(self.leaves, index, arrays, self.cut(indices, arrays), list(layout.parts), len(layout.parts))

    def cut(self, indices: list[np.ndarray], arrays: list[np.ndarray]) -> list[Batch]:
        """Return the batches, or the one block of them, that lie in arrays of all their rows, ``(rows, ...)``."""
        if self.block:
            shape = (len(indices), len(indices[0]))
            return [self._pack([array.reshape(*shape, *array.shape[1:]) for array in arrays])]
        if len(indices) == 1:
            return [self._pack(arrays)]
        batches, start = [], 0
        for one in indices:
            stop = start + len(one)
            batches.append(self._pack([array[start:stop] for array in arrays]))
            start = stop
        return batches


def block_of(source: ArraySource, rows: int) -> int:
    """Return how many batches of so many rows to give at a time, where batches can be given as blocks.

    Rows that are made when they are asked for come one batch at a time: the first step would wait for a whole block.
    """
    gathered = Gathered(source, iter(()))
    if not all(isinstance(leaf.array, np.ndarray) for leaf in gathered.leaves):
        return 1
    return max(1, min(BLOCK_BYTES // max(1, gathered.bytes_of(rows)), MOST_AT_ONCE))


def _packer(tree: Any) -> Callable[[list[Any]], Batch]:
    """Return what packs flat arrays as a tree, quickly where it is a tuple of arrays."""
    import keras

    if all(not isinstance(part, tuple | list | dict) for part in tree):
        return tuple
    return lambda arrays: keras.tree.pack_sequence_as(tree, arrays)
