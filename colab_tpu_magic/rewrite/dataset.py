"""Make the feeds of training, evaluation and prediction from a source of rows or batches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from .alike import Alike, AlikeGathered
from .batches import even_pieces, index_batches, join_alike, lengths_in, limited
from .feed import Feed
from .gather import Gathered, block_of
from .sources import ArraySource, Batch, Source, cast, rows_of


def training_feed(
    source: Source,
    batch_size: int,
    shuffle: bool,
    seed: int,
    full: bool,
    prefetch: int,
    endless: bool = True,
    most: int | None = None,
) -> Feed:
    """Return the feed of a training: endless full batches, or with ``full`` off one pass with its own last batch.

    A stream whose epochs have no known number of steps is not ``endless``: each epoch is one
    pass of it, and its last batch is completed with the first rows of that pass. A stream is read no further
    than for the ``most`` batches that the training takes, so that a generator can go on in the next one.
    """
    if isinstance(source, ArraySource):
        if full and source.alike is not None:
            return _alike_feed(source, source.alike, batch_size, seed, prefetch)
        if full:
            return Feed(
                lambda: Gathered(source, index_batches(source.rows, batch_size, shuffle, seed)),
                source.example,
                batch_size,
                batch_size,
                None,
                prefetch,
                block=block_of(source, batch_size),
            )
        passes = iter(range(2**62))

        def one_pass() -> Iterator[Batch]:
            rng = np.random.default_rng((seed, next(passes)))
            order = rng.permutation(source.rows) if shuffle else np.arange(source.rows)
            return Gathered(source, (order[i : i + batch_size] for i in range(0, source.rows, batch_size)))

        return Feed(
            one_pass,
            source.example,
            batch_size,
            None,
            -(-source.rows // batch_size),
            prefetch,
        )
    stream = source
    as_they_come = not full and batch_size == stream.batch_size

    def batches() -> Iterator[Batch]:
        if as_they_come:
            return islice(stream.passes(forever=endless), most)
        return islice(stream.of_size(batch_size, endless, "fill" if full else "keep"), most)

    return Feed(
        batches,
        _example(stream),
        batch_size,
        batch_size if full else None,
        None,
        prefetch,
        once=stream.once,
        stream=True,
        free_axes=stream.free_axes,
    )


def _alike_feed(source: ArraySource, alike: Alike, batch_size: int, seed: int, prefetch: int) -> Feed:
    import keras

    free = tuple((1,) if at == alike.leaf else () for at in range(len(keras.tree.flatten(source.tree))))
    return Feed(
        lambda: AlikeGathered(source, alike.indices(batch_size, seed)),
        source.example,
        batch_size,
        batch_size,
        None,
        prefetch,
        free_axes=free,
    )


def evaluation_feed(
    source: Source, batch_size: int, replicas: int, limit_rows: int | None, prefetch: int, split: bool = True
) -> Feed:
    """Return the feed of an evaluation: every row once, in order.

    Args:
        source: The data.
        batch_size: Global batch size, rows.
        replicas: Devices that share a batch.
        limit_rows: Rows to stop after, or None.
        prefetch: Batches made ahead.
        split: Cut a last batch that does not divide in two. Off for losses and metrics that
            are no means over rows; such a batch then goes to every replica whole.
    """

    def pieces() -> Iterator[Batch]:
        for batch in limited(_in_order(source, batch_size), limit_rows):
            yield from even_pieces(batch, replicas if split else 1)

    return Feed(
        pieces,
        _example(source),
        batch_size,
        None,
        _passes_batches(source, batch_size, replicas if split else 1, limit_rows),
        prefetch,
        once=_once(source),
        stream=not isinstance(source, ArraySource),
        free_axes=_free_axes(source),
    )


def prediction_feed(
    source: Source, batch_size: int, replicas: int, limit_rows: int | None, prefetch: int
) -> tuple[Feed, list[tuple[int, int]]]:
    """Return the feed of a prediction, and a list that gets the true rows of each batch, and its rows as given.

    A batch that is not full is completed with copies of its last row: the last one, and the last before the
    lengths change where those are kept. `true_rows` cuts the predictions.
    """
    import keras

    given: list[tuple[int, int]] = []

    def padded() -> Iterator[Batch]:
        given.clear()
        full = set()
        for batch in limited(_in_order(source, batch_size), limit_rows):
            rows, lengths = rows_of(batch), lengths_in(batch)
            if rows == batch_size:
                full.add(lengths)
            # To a shape that the step is compiled for already, where there is one.
            target = batch_size if lengths in full else -(-rows // replicas) * replicas
            given.append((rows, target))
            if rows < target:
                batch = keras.tree.map_structure(
                    lambda leaf, missing=target - rows: np.concatenate([leaf, np.repeat(leaf[-1:], missing, axis=0)]),
                    batch,
                )
            yield batch

    total = min(source.rows, limit_rows or source.rows) if isinstance(source, ArraySource) else None
    batches = -(-total // batch_size) if total is not None else None
    feed = Feed(
        padded,
        _example(source),
        batch_size,
        None,
        batches,
        prefetch,
        once=_once(source),
        stream=not isinstance(source, ArraySource),
        free_axes=_free_axes(source),
    )
    return feed, given


def true_rows(output: Any, given: list[tuple[int, int]]) -> Any:
    """Return what a model gave for the batches of a prediction, without the rows that completed them.

    Args:
        output: An array, ``(rows, ...)``; or the ragged tensor that Keras makes on TensorFlow of outputs that
            differ in length, which stays one.
        given: Of each batch its true rows, and its rows as given.

    Example:
        >>> true_rows(np.arange(6), [(1, 2), (3, 4)])
        array([0, 2, 3, 4])
    """
    if hasattr(output, "row_splits"):
        import tensorflow as tf

        return tf.ragged.boolean_mask(output, _kept(given))
    output = np.asarray(output)
    if all(rows == target for rows, target in given[:-1]):
        return output[: sum(rows for rows, _ in given)]
    return output[_kept(given)]


def _kept(given: list[tuple[int, int]]) -> np.ndarray:
    return np.concatenate([np.arange(target) < rows for rows, target in given])


def _in_order(source: Source, batch_size: int) -> Iterator[Batch]:
    if isinstance(source, ArraySource):
        return (source.take(slice(i, min(i + batch_size, source.rows))) for i in range(0, source.rows, batch_size))
    if _keeps_lengths(source):
        return join_alike(source.passes(forever=False), batch_size)
    return source.of_size(batch_size, False, "keep")


def _keeps_lengths(source: Source) -> bool:
    """Return whether batches stay as they come, for joining them would pad rows that nothing masks."""
    return not isinstance(source, ArraySource) and source.lengths is not None and source.buckets is None


def _passes_batches(source: Source, batch_size: int, replicas: int, limit_rows: int | None) -> int | None:
    if not isinstance(source, ArraySource):
        return None
    rows = min(source.rows, limit_rows or source.rows)
    full, rest = divmod(rows, batch_size)
    if not rest:
        return full
    split = rest % replicas != 0 and rest > replicas
    return full + (2 if split else 1)


def _example(source: Source) -> Batch:
    return source.example if isinstance(source, ArraySource) else cast(source.example, source.dtypes)


def _free_axes(source: Source) -> tuple[tuple[int, ...], ...]:
    return () if isinstance(source, ArraySource) else source.free_axes


def _once(source: Source) -> bool:
    return not isinstance(source, ArraySource) and source.once
