"""A feed: batches made ahead of time, that can be interrupted and keeps what the data raised."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from .sources import Batch, rows_of

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
