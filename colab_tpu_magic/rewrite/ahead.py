"""Make batches ahead in threads: one for a stream, two for rows that are gathered."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from .gather import Gathered
from .sources import Batch
from .waits import GLANCE_SECONDS, Waits

GATHERERS = 2
_END = object()


def prefetched(
    batches: Iterator[Batch], depth: int, interrupted: threading.Event, waits: Waits | None = None
) -> Iterator[Batch]:
    """Make ``depth`` batches ahead in a thread.

    Args:
        batches: What to make ahead.
        depth: How many; what is gathered goes by the pieces of its ring instead.
        interrupted: Ends the waiting.
        waits: Counts the time in which neither a batch was there nor the device at work.

    Raises:
        KeyboardInterrupt: When ``interrupted`` is set while it waits.
    """
    waits = Waits() if waits is None else waits
    if isinstance(batches, Gathered):
        return _gathered(batches, interrupted, waits)
    return _streamed(batches, depth, interrupted, waits)


def _streamed(batches: Iterator[Batch], depth: int, interrupted: threading.Event, waits: Waits) -> Iterator[Batch]:
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

    _start(work)
    try:
        while True:
            item = _taken(ready, interrupted, waits)
            if item is _END:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
            del item  # or it would live on while the next is waited for
    finally:
        stopped.set()


def _gathered(gathered: Gathered, interrupted: threading.Event, waits: Waits) -> Iterator[Batch]:
    """Gather in two threads, each a whole batch, and yield the batches in their order."""
    ring = gathered.ring
    ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
    turn = threading.Lock()
    begun = received = 0
    largest = 0
    ended = False

    def work() -> None:
        nonlocal begun, ended, largest
        while True:
            memory = ring.lend(largest)
            if memory is None:
                return
            with turn:
                if ended:
                    return
                number, begun = begun, begun + 1
                try:
                    index = next(gathered.indices, None)
                except BaseException as error:  # handed to the thread that reads
                    ended = True
                    ready.put((number, error))
                    return
                if index is None:
                    ended = True
                    ready.put((number, _END))
                    return
            size = gathered.bytes_of(len(index))
            if len(memory) < size:
                largest = max(largest, size)
                del memory  # back to the ring, for a larger one
                memory = ring.lend(size, wait=False)
                if memory is None:
                    return
            try:
                ready.put((number, gathered.gather(index, memory)))
            except BaseException as error:
                ready.put((number, error))
            del memory

    def starved() -> None:
        # Whoever reads holds every batch there is and asks for one more.
        if begun == received and ring.exhausted:
            ring.grow()

    for _ in range(GATHERERS):
        _start(work)
    early: dict[int, Any] = {}
    try:
        while True:
            while received not in early:
                number, item = _taken(ready, interrupted, waits, starved)
                early[number] = item
            item = early.pop(received)
            received += 1
            if item is _END:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
            del item
    finally:
        ended = True
        ring.close(GATHERERS)


def _start(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="tpu-feed", daemon=True).start()


def _taken(ready: Any, interrupted: threading.Event, waits: Waits, starved: Callable[[], None] | None = None) -> Any:
    """Take the next item; count the waiting from the moment at which the device has nothing to do.

    Args:
        ready: The queue.
        interrupted: Ends the waiting.
        waits: Counts it.
        starved: Called each time nothing has come for a glance.
    """
    try:
        return ready.get_nowait()
    except queue.Empty:
        idle_since: float | None = None
    while True:
        if idle_since is None and not waits.device_busy():
            idle_since = time.perf_counter()
        try:
            item = ready.get(timeout=GLANCE_SECONDS if idle_since is None or starved is not None else 0.1)
        except queue.Empty:
            if interrupted.is_set():
                raise KeyboardInterrupt from None
            if starved is not None:
                starved()
            continue
        if idle_since is not None:
            waits.seconds += time.perf_counter() - idle_since
        return item
