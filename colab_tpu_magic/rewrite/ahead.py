"""Make batches ahead in threads."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from .gather import Gathered, Job
from .sources import Batch
from .waits import GLANCE_SECONDS, Waits

# Beside the thread that reads, which gathers too while nothing is ready.
GATHERERS = 1 if (os.cpu_count() or 1) <= 2 else 2
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
        gathering = _Gathering(batches)
        for _ in range(GATHERERS):
            _start(gathering.work)
        return gathering.batches(interrupted, waits)
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


class _Gathering:
    """Gather batches in several threads, together where they are large, and give them in their order."""

    def __init__(self, gathered: Gathered) -> None:
        self.gathered = gathered
        self.ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.begun = 0
        self.given = 0
        self.ended = False
        self._turn = threading.Lock()
        self._largest = 0
        self._job: Job | None = None
        self._number = 0

    def work(self) -> None:
        """Make batches until there are no more, or `close`."""
        while not self.ended:
            if not self.make() and not self.ended:
                self.gathered.ring.wait(self._can_go_on)

    def make(self) -> bool:
        """Gather a part of the next batch, or several small ones; return whether there was one, and memory for it."""
        with self._turn:
            if self._job is None and not self._begin():
                return False
            job, number = self._job, self._number
            assert job is not None
            part, more = job.parts.pop(), bool(job.parts)
            if not more:
                self._job = None
        if more:
            self.gathered.ring.look()  # another thread may take a part
        try:
            job.gather(part)
        except BaseException as error:  # handed to the thread that reads
            self.ready.put((number, error))
            return True
        with self._turn:
            job.left -= 1
            done = not job.left
        if done:
            self.ready.put((number, job.batches))
        return True

    def _can_go_on(self) -> bool:
        return self.ended or self._job is not None or self.gathered.ring.free

    def _begin(self) -> bool:
        """Begin the next batch where there is one, and memory for it."""
        ring = self.gathered.ring
        memory = None if self.ended else ring.lend(self._largest)
        if memory is None:
            return False
        number, self.begun = self.begun, self.begun + 1
        try:
            indices = self.gathered.next_indices()
            if not indices:
                return self._end(number, _END)
            size = self.gathered.bytes_of(sum(map(len, indices)))
            if len(memory) < size:
                self._largest = max(self._largest, size)
                memory = None  # back to the ring, which has the same piece larger
                while (memory := ring.lend(size)) is None:
                    if self.ended:  # a closed ring lends nothing
                        return False
                    ring.grow()
            self._job, self._number = self.gathered.job(indices, memory), number
        except BaseException as error:
            return self._end(number, error)
        return True

    def _end(self, number: int, item: Any) -> bool:
        self.ended = True
        self.ready.put((number, item))
        return False

    def starved(self) -> None:
        """Lend one piece of memory more where whoever reads holds every batch there is and asks for another."""
        if self.begun == self.given and not self.ended:
            self.gathered.ring.grow()

    def batches(self, interrupted: threading.Event, waits: Waits) -> Iterator[Batch]:
        """Yield the batches; whoever reads lends a hand rather than wait."""
        early: dict[int, Any] = {}
        try:
            while True:
                while self.given not in early:
                    number, item = self._next(interrupted, waits)
                    early[number] = item
                item = early.pop(self.given)
                self.given += 1
                if item is _END:
                    return
                if isinstance(item, BaseException):
                    raise item
                item.reverse()
                while item:
                    yield item.pop()
        finally:
            self.close()

    def _next(self, interrupted: threading.Event, waits: Waits) -> Any:
        self.gathered.ring.look()
        if self.ready.empty():
            asked, busy = time.perf_counter(), waits.device_busy()
            made = False
            while self.ready.empty() and not interrupted.is_set() and self.make():
                made = True
            if made and not (busy and waits.device_busy()):
                waits.seconds += time.perf_counter() - asked
        return _taken(self.ready, interrupted, waits, self.starved)

    def close(self) -> None:
        """End the threads."""
        self.ended = True
        self.gathered.ring.close()


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
