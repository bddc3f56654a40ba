"""Batches of rows of alike length, out of arrays whose rows are padded to the longest: less padding, few shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays.integers import NarrowedRows
from .arrays.ragged import RaggedRows
from .arrays.text import MadeRows
from .buckets import SHORTEST
from .gather import Gathered

if TYPE_CHECKING:
    from .sources import ArraySource, Batch

MOST_SHAPES = 4
WORTH_IT = 0.75
"""Grouping has to leave at most this share of the values that all rows at the longest would be."""
STEPS_PER_SHAPE = 500
"""Steps of the training for each shape that is compiled: compiling an LSTM once more took as long as 110 of its steps
saved (two CPU cores, November 2026), and a TPU's steps are shorter."""


@dataclass(frozen=True)
class Alike:
    """How rows are grouped by length.

    Attributes:
        leaf: The flattened array whose second axis varies.
        lengths: How long each row is, ``(rows,)``.
        table: The lengths that batches are cut to, shortest first.
    """

    leaf: int
    lengths: np.ndarray
    table: tuple[int, ...]

    def length(self, index: np.ndarray) -> int:
        """Return the length of a batch of these rows."""
        return self.table[int(np.searchsorted(self.table, self.lengths[index].max(initial=0)))]

    @property
    def padding(self) -> tuple[float, float]:
        """The share of values that are padding with every row at the longest, and with rows grouped."""
        values = int(self.lengths.sum())
        grouped = int(np.asarray(self.table)[np.searchsorted(self.table, self.lengths)].sum())
        return 1 - values / (len(self.lengths) * self.table[-1]), 1 - values / grouped

    def indices(self, batch_size: int, seed: int) -> Iterator[np.ndarray]:
        """Yield endless full batches of row numbers, the rows of each alike in length.

        As in `batches.index_batches`, every pass visits each row once in a new order, and the rows that fill no
        batch are completed with the first rows of the next pass. Within a pass the shuffled rows are grouped by
        length, and their batches come in a random order.

        Yields:
            int64 arrays of shape ``(batch_size,)``.
        """
        rng, group = np.random.default_rng(seed), np.searchsorted(self.table, self.lengths)
        left = np.empty(0, np.int64)
        while True:
            order = rng.permutation(len(self.lengths))
            if len(left):
                missing = batch_size - len(left)
                left, order = np.concatenate([left, order[:missing]]), order[missing:]
                if len(left) < batch_size:
                    continue
                yield left
            order = order[np.argsort(group[order], kind="stable")]
            batches, left = [], order[:0]
            for rows in np.split(order, np.searchsorted(group[order], np.arange(1, len(self.table)))):
                line = np.concatenate([left, rows])  # what is left of shorter rows goes on with longer ones
                whole = len(line) // batch_size * batch_size
                batches += list(line[:whole].reshape(-1, batch_size))
                left = line[whole:]
            for at in rng.permutation(len(batches)):
                yield batches[at]


class AlikeGathered(Gathered):
    """Gather batches and cut off the padding that no row of a batch needs.

    Args:
        source: Arrays with `ArraySource.alike`.
        indices: Yields int arrays ``(batch,)``, the rows of each batch.
    """

    def __init__(self, source: ArraySource, indices: Iterator[np.ndarray]) -> None:
        super().__init__(source, indices)
        assert source.alike is not None
        self.alike = source.alike

    def cut(self, indices: list[np.ndarray], arrays: list[np.ndarray]) -> list[Batch]:
        """Return the batches, each as long as its rows need."""
        import keras

        shorter = []
        for index, batch in zip(indices, super().cut(indices, arrays), strict=True):
            leaves = keras.tree.flatten(batch)
            leaves[self.alike.leaf] = leaves[self.alike.leaf][:, : self.alike.length(index)]
            shorter.append(keras.tree.pack_sequence_as(batch, leaves))
        return shorter


def alike_rows(source: ArraySource, model: Any, batch_size: int, epochs: int) -> Alike | None:
    """Return how to group the rows of a source, None where lengths are fixed, one array more would have to be cut, or it saves little.

    Args:
        source: Arrays.
        model: What trains from them, its layers of text left out; its shapes say whether it takes any length.
        batch_size: Global batch size, rows.
        epochs: Epochs that will be trained.
    """
    import keras

    leaves = keras.tree.flatten(source.tree)
    varying = [(at, lengths) for at, leaf in enumerate(leaves) if (lengths := row_lengths(leaf)) is not None]
    inputs = getattr(model, "inputs", None) if getattr(model, "built", False) else None
    if len(varying) != 1 or not inputs:
        return None
    (leaf, lengths) = varying[0]
    fed = keras.tree.flatten(inputs)
    if leaf >= len(fed) or len(fed[leaf].shape) < 2 or fed[leaf].shape[1] is not None:
        return None
    # An output as long as its row would meet targets of another length.
    if any(None in output.shape[1:] for output in keras.tree.flatten(model.outputs)):
        return None
    if any(one.ndim > 2 for at, one in enumerate(leaves) if at >= len(fed)):
        return None
    steps = epochs * source.rows // batch_size
    most = min(MOST_SHAPES, steps // STEPS_PER_SHAPE)
    table = table_for(lengths, leaves[leaf].shape[1], batch_size, most)
    if len(table) < 2:
        return None
    alike = Alike(leaf, lengths, table)
    before, after = alike.padding
    return alike if (1 - before) / (1 - after) <= WORTH_IT else None


def row_lengths(leaf: Any) -> np.ndarray | None:
    """Return how long each row of an array is before it is padded, None where nothing is padded."""
    start, rows = 0, len(leaf)
    while isinstance(leaf, NarrowedRows):
        start, leaf = start + leaf.start, leaf.leaf
    if isinstance(leaf, RaggedRows):
        lengths = np.diff(leaf.splits)
    elif isinstance(leaf, MadeRows) and leaf.lengths is not None:
        lengths = leaf.lengths
    else:
        return None
    start += leaf.start
    return lengths[start : start + rows]


def table_for(lengths: np.ndarray, longest: int, batch_size: int, most: int) -> tuple[int, ...]:
    """Return the lengths to cut batches to: powers of two from 8 on and the longest, the least useful ones left out.

    Args:
        lengths: How long each row is.
        longest: How long rows are padded now.
        batch_size: A length that fewer rows need is left out.
        most: How many lengths there may be.

    Example:
        >>> table_for(np.array([3] * 50 + [30] * 50), 40, 10, 4)
        (8, 32, 40)
    """
    table = [1 << power for power in range(SHORTEST.bit_length() - 1, max(longest - 1, 1).bit_length())]
    table = [length for length in table if length < longest]

    def values(table: list[int]) -> int:
        ends = np.asarray([*table, longest])
        return int(ends[np.searchsorted(ends, lengths)].sum())

    while table:
        counts = np.bincount(np.searchsorted([*table, longest], lengths), minlength=len(table) + 1)
        few = [at for at in range(len(table)) if counts[at] < batch_size]
        if not few and len(table) < most:
            break
        costs = {at: values(table[:at] + table[at + 1 :]) for at in few or range(len(table))}
        del table[min(costs, key=costs.__getitem__)]
    return (*table, longest)
