"""Feeds: what the training loop eats, batches of fixed shape made ahead of time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from .sources import ArraySource, Batch, Source, cast, rows_of

PREFETCH = 3
MOST_REPLAYED = 2
_END = object()


@dataclass
class Feed:
    """Batches in order, and how to stop them.

    Attributes:
        open: Returns a fresh iterator over batches.
        example: A batch, for shapes and dtypes; its number of rows does not matter.
        batch_size: Global batch size, rows.
        static_rows: Rows in every batch, or None when the last one differs.
        batches: Batches in a pass, or None when the feed is endless.
        prefetch: Batches made ahead in a thread; 0 makes each when it is asked for.
        once: Whether the source can be read only once.
        interrupted: Set it to end the feed from outside while it waits for data.
        hold_errors: End quietly on an error and keep it in `error`, for a caller that
            cannot take one in the middle of several steps.
        error: What the user's data raised.
        rows_given: Rows given since the last time it was opened.
    """

    open: Callable[[], Iterator[Batch]]
    example: Batch
    batch_size: int
    static_rows: int | None
    batches: int | None
    prefetch: int = PREFETCH
    once: bool = False
    interrupted: threading.Event = field(default_factory=threading.Event)
    hold_errors: bool = False
    error: BaseException | None = None
    rows_given: int = 0
    _replay: list[Batch] = field(default_factory=list)
    _single: Iterator[Batch] | None = None

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches; keep what the data raised."""
        self.rows_given = 0
        batches = self._once() if self.once else self._ahead()
        try:
            for batch in batches:
                self.rows_given += rows_of(batch)
                yield batch
        except (Exception, KeyboardInterrupt) as error:
            self.error = error
            if not self.hold_errors:
                raise

    def _ahead(self) -> Iterator[Batch]:
        batches = self.open()
        return prefetched(batches, self.prefetch, self.interrupted) if self.prefetch else batches

    def _once(self) -> Iterator[Batch]:
        """Read a source that cannot be rewound; a first batch, read to learn shapes, comes again."""
        if self._single is None:
            self._single = self._ahead()
        replay, self._replay = self._replay, []
        for batch in chain(replay, self._single):
            if len(self._replay) < MOST_REPLAYED:
                self._replay.append(batch)
            yield batch


def prefetched(batches: Iterator[Batch], depth: int, interrupted: threading.Event) -> Iterator[Batch]:
    """Make ``depth`` batches ahead in a thread.

    Raises:
        KeyboardInterrupt: When ``interrupted`` is set while it waits.
    """
    ready: queue.Queue[Any] = queue.Queue(depth)
    stopped = threading.Event()

    def offer(item: Any) -> bool:
        while not stopped.is_set():
            try:
                ready.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for batch in batches:
                if not offer(batch):
                    return
            offer(_END)
        except BaseException as error:  # handed to the thread that reads
            offer(error)

    threading.Thread(target=work, name="tpu-feed", daemon=True).start()
    try:
        while True:
            try:
                item = ready.get(timeout=0.1)
            except queue.Empty:
                if interrupted.is_set():
                    raise KeyboardInterrupt from None
                continue
            if item is _END:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()


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
        parts = [left]
        have = len(left)
        while have < batch_size:
            order = rng.permutation(rows) if shuffle else np.arange(rows)
            parts.append(order)
            have += rows
        line = np.concatenate(parts)
        start = 0
        while start + batch_size <= have:
            yield line[start : start + batch_size]
            start += batch_size
        left = line[start:]


def rebatch(batches: Iterator[Batch], batch_size: int, last: str) -> Iterator[Batch]:
    """Cut and join batches of any size into batches of one size.

    Args:
        batches: Batches of any number of rows.
        batch_size: Rows in every batch given out.
        last: What happens to the rows left at the end: ``"keep"`` gives a smaller batch,
            ``"fill"`` completes it with the first rows of the stream.
    """
    import keras

    pending: list[Batch] = []
    have = 0
    first: Batch | None = None

    def joined() -> Batch:
        return (
            pending[0]
            if len(pending) == 1
            else keras.tree.map_structure(lambda *leaves: np.concatenate(leaves), *pending)
        )

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


def training_feed(
    source: Source, batch_size: int, shuffle: bool, seed: int, full: bool, prefetch: int, endless: bool = True
) -> Feed:
    """Return the feed of a training: endless full batches, or with ``full`` off one pass with its own last batch.

    A stream whose epochs have no known number of steps is not ``endless``: each epoch is one
    pass of it, and its last batch is completed with the first rows of that pass.
    """
    if isinstance(source, ArraySource):
        if full:
            return Feed(
                lambda: (source.take(index) for index in index_batches(source.rows, batch_size, shuffle, seed)),
                source.example,
                batch_size,
                batch_size,
                None,
                prefetch,
            )
        passes = iter(range(2**62))

        def one_pass() -> Iterator[Batch]:
            rng = np.random.default_rng((seed, next(passes)))
            order = rng.permutation(source.rows) if shuffle else np.arange(source.rows)
            return (source.take(order[i : i + batch_size]) for i in range(0, source.rows, batch_size))

        return Feed(one_pass, source.example, batch_size, None, -(-source.rows // batch_size), prefetch)
    stream = source
    return Feed(
        lambda: rebatch(stream.passes(forever=endless), batch_size, "fill" if full else "keep"),
        _example(stream),
        batch_size,
        batch_size if full else None,
        None,
        prefetch,
        once=stream.once,
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
        for batch in _limited(_in_order(source, batch_size), limit_rows):
            yield from even_pieces(batch, replicas if split else 1)

    return Feed(
        pieces,
        _example(source),
        batch_size,
        None,
        _passes_batches(source, batch_size, replicas if split else 1, limit_rows),
        prefetch,
        once=_once(source),
    )


def prediction_feed(
    source: Source, batch_size: int, replicas: int, limit_rows: int | None, prefetch: int
) -> tuple[Feed, list[int]]:
    """Return the feed of a prediction, every batch full, and a list that gets the true rows of each.

    The last batch is completed with copies of its last row; whoever collects the
    predictions cuts them to the true rows.
    """
    import keras

    true_rows: list[int] = []

    def padded() -> Iterator[Batch]:
        true_rows.clear()
        first = True
        for batch in _limited(_in_order(source, batch_size), limit_rows):
            rows = rows_of(batch)
            true_rows.append(rows)
            target = -(-rows // replicas) * replicas if first else batch_size
            first = False
            if rows < target:
                batch = keras.tree.map_structure(
                    lambda leaf, missing=target - rows: np.concatenate([leaf, np.repeat(leaf[-1:], missing, axis=0)]),
                    batch,
                )
            yield batch

    known = isinstance(source, ArraySource)
    total = min(source.rows, limit_rows or source.rows) if known else None  # type: ignore[union-attr]
    batches = -(-total // batch_size) if total is not None else None
    return Feed(padded, _example(source), batch_size, None, batches, prefetch, once=_once(source)), true_rows


def _in_order(source: Source, batch_size: int) -> Iterator[Batch]:
    if isinstance(source, ArraySource):
        return (source.take(slice(i, min(i + batch_size, source.rows))) for i in range(0, source.rows, batch_size))
    return rebatch(source.passes(forever=False), batch_size, "keep")


def _limited(batches: Iterator[Batch], limit_rows: int | None) -> Iterator[Batch]:
    import keras

    left = limit_rows
    for batch in batches:
        rows = rows_of(batch)
        if left is not None and rows >= left:
            yield batch if rows == left else keras.tree.map_structure(lambda leaf, stop=left: leaf[:stop], batch)
            return
        left = None if left is None else left - rows
        yield batch


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


def _once(source: Source) -> bool:
    return not isinstance(source, ArraySource) and source.once
