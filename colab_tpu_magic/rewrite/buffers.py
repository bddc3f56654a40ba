"""Memory for batches that is used again as soon as nobody can see the batch that was in it."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable

import numpy as np

ALIGNMENT = 64
SLOTS = 3
# How often to look whether memory is free when nobody says that it may be: soon at first, for a fast reader, then less.
FIRST_LOOK_SECONDS, LOOK_SECONDS = 0.0001, 0.005


class Ring:
    """Lend aligned memory, and lend it again when the last array in it is gone.

    A fresh batch of some megabytes costs a page fault for every 4 KiB, about as much as filling
    it, so memory is used again. When that is safe cannot be told from the outside: JAX on a CPU
    does not copy an array that begins at a multiple of 64 bytes, whatever ``may_alias`` says
    (jax 0.7.2 and 0.10.2), and neither does ``tf.numpy_function``. Both hold a reference to the
    array instead, and so does every view. So the references are counted. (An object that gives
    the memory back when it is destroyed would be told at once, but TensorFlow destroys arrays
    where Python code must not run: it crashed.)

    Args:
        slots: Pieces of memory that can be lent at the same time.
    """

    def __init__(self, slots: int = SLOTS) -> None:
        self._slots = slots
        self._pieces: list[np.ndarray] = [np.empty(0, np.uint8)]
        self._starts = [0]
        self._unlent = self._references(0)
        self._looking = threading.Lock()
        self._waiting: list[queue.SimpleQueue[None]] = []
        self._closed = False

    @property
    def size(self) -> int:
        """Bytes of memory held, lent or not."""
        return sum(map(len, self._pieces))

    def grow(self) -> None:
        """Let one more piece be lent."""
        self._slots += 1
        self.look()

    def look(self) -> None:
        """Have those that wait look at once: an array may just have gone."""
        for news in self._waiting.copy():
            if news.empty():
                news.put(None)

    @property
    def free(self) -> bool:
        """Whether a piece can be lent."""
        with self._looking:
            return self._free_place() is not None

    def lend(self, size: int) -> np.ndarray | None:
        """Return ``size`` bytes, uint8 ``(size,)``, that begin at a multiple of 64; None when no piece is free."""
        with self._looking:
            at = self._free_place()
            if at is None:
                return None
            if at == len(self._pieces):
                self._pieces.append(np.empty(0, np.uint8))
                self._starts.append(0)
            return self._part(at, size)

    def wait(self, enough: Callable[[], bool]) -> None:
        """Wait until something is so: asked now, whenever `look` is called, and every few milliseconds."""
        pause = FIRST_LOOK_SECONDS
        # One for each that waits: `get` with a timeout may wait for ever where another thread takes what was put
        # (Python 3.11.7, December 2026).
        news: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._waiting.append(news)
        try:
            while not enough():
                try:
                    news.get(timeout=pause)
                except queue.Empty:
                    pause = min(LOOK_SECONDS, 2 * pause)
        finally:
            self._waiting.remove(news)

    def close(self) -> None:
        """Lend nothing more."""
        self._closed = True
        self.look()

    def _free_place(self) -> int | None:
        if self._closed:
            return None
        for at in range(len(self._pieces)):
            if self._references(at) == self._unlent:
                return at
        return len(self._pieces) if len(self._pieces) < self._slots else None

    def _references(self, at: int) -> int:
        # A view of a view refers to the piece itself, so none is missed.
        return sys.getrefcount(self._pieces[at])

    def _part(self, at: int, size: int) -> np.ndarray:
        if len(self._pieces[at]) < size + ALIGNMENT:
            self._pieces[at] = np.empty(size + ALIGNMENT, np.uint8)
            self._starts[at] = -self._pieces[at].ctypes.data % ALIGNMENT
        start = self._starts[at]
        return self._pieces[at][start : start + size]


def places(sizes: list[int]) -> tuple[list[int], int]:
    """Return where arrays of these sizes begin in one piece of memory, each aligned, and its size in bytes.

    Example:
        >>> places([100, 8])
        ([0, 128], 136)
    """
    starts, end = [], 0
    for size in sizes:
        start = -(-end // ALIGNMENT) * ALIGNMENT
        starts.append(start)
        end = start + size
    return starts, end
