"""Cut rows into batches: full ones without losing a row, and last ones that replicas can share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

import numpy as np

from ..errors import DataError
from .sources import Batch, rows_of


def index_batches(rows: int, batch_size: int, shuffle: bool, seed: int) -> Iterator[np.ndarray]:
    """Yield endless full batches of row numbers.

    Every pass visits each row once, in a new order when ``shuffle``; the last batch of a pass
    is completed with the first rows of the next one, which then do not come again in it.

    Yields:
        int64 arrays of shape ``(batch_size,)``.
    """
    rng = np.random.default_rng(seed)
    left = np.empty(0, np.int64)
    while True:
        order = rng.permutation(rows) if shuffle else np.arange(rows)
        start = 0
        if len(left):
            start = min(rows, batch_size - len(left))
            left = np.concatenate([left, order[:start]])
            if len(left) < batch_size:
                continue
            yield left
        while start + batch_size <= rows:
            yield order[start : start + batch_size]
            start += batch_size
        left = order[start:].copy()  # the rest of the order need not live on
        del order


def rebatch(
    batches: Iterator[Batch], batch_size: int, last: str, join: Callable[[list[Batch]], Batch] | None = None
) -> Iterator[Batch]:
    """Cut and join batches of any size into batches of one size.

    Args:
        batches: Batches of any number of rows.
        batch_size: Rows in every batch given out.
        last: What happens to the rows left at the end: ``"keep"`` gives a smaller batch,
            ``"fill"`` completes it with the first rows of the stream.
        join: Puts batches together as one, where their lengths differ; None concatenates.
    """
    import keras

    pending: list[Batch] = []
    have = 0
    first: Batch | None = None

    def joined() -> Batch:
        if len(pending) == 1:
            return pending[0]
        if join is not None:
            return join(pending)
        return keras.tree.map_structure(_concatenated, *pending)

    def cut(batch: Batch, start: int, stop: int) -> Batch:
        return keras.tree.map_structure(lambda leaf: leaf[start:stop], batch)

    for batch in batches:
        if first is None:
            first = batch
        pending.append(batch)
        have += rows_of(batch)
        if have < batch_size:
            continue
        line = joined()
        start = 0
        while start + batch_size <= have:
            yield line if have == batch_size else cut(line, start, start + batch_size)
            start += batch_size
        pending = [cut(line, start, have)] if start < have else []
        have -= start
    if not have:
        return
    if last == "fill" and first is not None:
        while have < batch_size:
            more = cut(first, 0, min(rows_of(first), batch_size - have))
            pending.append(more)
            have += rows_of(more)
    yield joined()


def _concatenated(*leaves: np.ndarray) -> np.ndarray:
    """Return arrays as one, rows after rows.

    Raises:
        DataError: When they differ in more than their rows, which neither the data, nor the model, nor the first
            batches have told.
    """
    first, other = leaves[0], next((leaf for leaf in leaves if leaf.shape[1:] != leaves[0].shape[1:]), None)
    if other is not None:
        raise differs(other.shape, first.shape)
    return np.concatenate(leaves)


def differs(shape: tuple[int | None, ...], before: tuple[int | None, ...]) -> DataError:
    """Return what to say of a batch with a length that could not be foreseen."""
    return DataError(
        f"A batch has an array of shape {shape}, and those that were read ahead had {before}: lengths vary.",
        expected="a model whose keras.Input leaves the length open (None), which tells it before any batch is read.",
        type_next=f"keras.Input({tuple(None if one != two else one for one, two in zip(shape[1:], before[1:]))})",
    )


def join_alike(batches: Iterator[Batch], batch_size: int) -> Iterator[Batch]:
    """Join and cut batches to one size as far as neighbours have the same lengths; none is padded.

    Args:
        batches: Batches of any number of rows and of any lengths.
        batch_size: The most rows in a batch given out; fewer where the lengths change, and at the end.
    """
    for _, alike in groupby(batches, key=lengths_in):
        yield from rebatch(alike, batch_size, "keep")


def lengths_in(batch: Batch) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of a batch's arrays without their rows."""
    import keras

    return tuple(tuple(leaf.shape[1:]) for leaf in keras.tree.flatten(batch))


def even_pieces(batch: Batch, replicas: int) -> Iterator[Batch]:
    """Split a last batch so that no replica gets a share the others do not have.

    A batch that divides evenly stays whole. Otherwise the rows that divide come first and
    the remainder, fewer rows than replicas, after them.
    """
    import keras

    rows = rows_of(batch)
    even = rows - rows % replicas
    for start, stop in ((0, even), (even, rows)):
        if start < stop:
            yield keras.tree.map_structure(lambda leaf, start=start, stop=stop: leaf[start:stop], batch)


def limited(batches: Iterator[Batch], limit_rows: int | None) -> Iterator[Batch]:
    """Yield batches up to a number of rows, the last one cut."""
    import keras

    left = limit_rows
    for batch in batches:
        rows = rows_of(batch)
        if left is not None and rows >= left:
            yield batch if rows == left else keras.tree.map_structure(lambda leaf, stop=left: leaf[:stop], batch)
            return
        left = None if left is None else left - rows
        yield batch
