"""A feed: batches made ahead of time, that can be interrupted and keeps what the data raised."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from .ahead import prefetched
from .gather import Gathered
from .sources import Batch, rows_of
from .waits import Waits

PREFETCH = 3
MOST_REPLAYED = 2
MOST_SHAPES = 100
CLOSING_SECONDS = 2.0


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
        stream: Whether the source gives batches, so that opening it for nothing costs the user's work.
        interrupted: Set it to end the feed from outside while it waits for data.
        hold_errors: End quietly on an error and keep it in `error`, for a caller that
            cannot take one in the middle of several steps.
        error: What the user's data raised.
        batches_given: Batches given since the last time it was opened.
        waits: Counts how long the device waited for the batches.
        shapes: The different shapes of batches met, at most a hundred.
        free_axes: Of each flattened array, the axes whose length may differ from batch to batch; empty for none.
        block: How many batches `blocks` gives at a time; 0 for a feed that cannot.
        cut: Whether a pass was ended early on purpose, so that what was made of it counts for nothing.
        look_ahead: Give each batch only when the next is there or the pass has ended, so that `end_before` knows the last.
        last: Batches of the pass, known when the last is given and `look_ahead` is on.
    """

    open: Callable[[], Iterator[Batch]]
    example: Batch
    batch_size: int
    static_rows: int | None
    batches: int | None
    prefetch: int = PREFETCH
    once: bool = False
    stream: bool = False
    interrupted: threading.Event = field(default_factory=threading.Event)
    hold_errors: bool = False
    error: BaseException | None = None
    batches_given: int = 0
    waits: Waits = field(default_factory=Waits)
    shapes: set[Any] = field(default_factory=set)
    cut: bool = False
    free_axes: tuple[tuple[int, ...], ...] = ()
    block: int = 0
    look_ahead: bool = False
    last: int | None = None
    _replay: list[Batch] = field(default_factory=list)
    _single: Iterator[Batch] | None = None
    _running: Generator[Batch] | None = None
    _ended: threading.Event | None = None

    def __iter__(self) -> Iterator[Batch]:
        """Return a fresh iterator over the batches."""
        return self._begun(self._batches())

    def blocks(self) -> Iterator[Batch]:
        """Return a fresh iterator over blocks of batches, ``(block, rows, ...)``; the last may be smaller."""
        return self._begun(self._batches(in_blocks=True))

    def _begun(self, batches: Generator[Batch]) -> Iterator[Batch]:
        """Remember a pass, and end the threads of the one before, which Keras leaves when it only looked at a batch."""
        if self._running is not None and self._ended is not None:
            self._ended.set()
            try:
                self._running.close()
            except ValueError:  # a thread of tf.data is inside it, and ends it when it looks at the event
                pass
        self._running, self._ended = batches, None
        return batches

    def close(self) -> None:
        """End the threads that read ahead, also where an error still holds the iterator."""
        if self._running is None:
            return
        until = time.monotonic() + CLOSING_SECONDS
        if self._ended is not None:
            self._ended.set()
        while True:
            try:
                return self._running.close()
            except (
                ValueError
            ):  # a thread of tf.data is inside it, and lets go of it: of the user's code when that returns
                if self._ended is None or time.monotonic() > until:
                    return
                time.sleep(0.002)

    def _batches(self, in_blocks: bool = False) -> Generator[Batch]:
        """Yield the batches; keep what the data raised."""
        self.batches_given, self.last = 0, None
        batches = self._once() if self.once else self._ahead(in_blocks)
        ended = self._ended
        if self.look_ahead:
            batches = self._knowing_the_last(batches)
        if self.waits.handing:
            batches = self.waits.handed_over(batches, rows_of if in_blocks else None)
        try:
            for batch in batches:
                self.batches_given += rows_of(batch) if in_blocks else 1
                if len(self.shapes) < MOST_SHAPES:
                    self.shapes.add(shape_of(batch, in_blocks))
                yield batch
                del batch  # or it would live on while the next is made
                if ended is not None and ended.is_set():
                    break
        except (Exception, KeyboardInterrupt) as error:
            if ended is not None and ended.is_set():  # nobody reads this pass any more
                return
            self.error = error
            if not self.hold_errors:
                raise

    def _knowing_the_last(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        count, held = 0, None
        for batch in batches:
            if held is not None:
                yield held
            held, count = batch, count + 1
        self.last = count
        if held is not None:
            yield held

    def end_before(self, batch: int) -> None:
        """End the pass where it is known to have no batch of an index.

        TensorFlow's replicas would find that out in a step, which then fails after it has counted in the metrics and
        in the optimizer's steps (seen November 2026).

        Raises:
            StopIteration: As an iterator without more batches does; Keras' loop on TensorFlow takes it as one.
        """
        if self.last is not None and batch >= self.last:
            raise StopIteration

    def _ahead(self, in_blocks: bool = False) -> Iterator[Batch]:
        batches = self.open()
        if not self.waits.handing:
            if self.prefetch:
                return prefetched(batches, self.prefetch, self.interrupted, self.waits)
            return self.waits.watched(batches)
        # The reader is a thread of the backend, which makes batches ahead, is not interrupted and counts no waiting.
        if not isinstance(batches, Gathered):
            return batches
        if in_blocks and self.block:
            batches.give_blocks(self.block)
        if not self.prefetch:
            return batches
        self._ended = threading.Event()
        return prefetched(batches, self.prefetch, self._ended)

    def _once(self) -> Iterator[Batch]:
        """Read a source that cannot be rewound; a first batch, read to learn shapes, comes again."""
        if self._single is None:
            self._single = self._ahead()
        replay, self._replay = self._replay, []
        for batch in chain(replay, self._single):
            if len(self._replay) < MOST_REPLAYED:
                self._replay.append(batch)
            yield batch
        # The next pass goes on where this one has ended: a generator that validates so many steps each epoch.
        self._single, self._replay = None, []


def shape_of(batch: Any, in_blocks: bool = False) -> Any:
    """Return the shapes of a batch's arrays, or of one in a block, something that can stand in a set."""
    if isinstance(batch, dict):
        return tuple((name, shape_of(part, in_blocks)) for name, part in batch.items())
    if isinstance(batch, tuple | list):
        return tuple(shape_of(part, in_blocks) for part in batch)
    shape = getattr(batch, "shape", None)
    return shape[1:] if in_blocks and shape else shape
