"""Memory for batches that is used again as soon as nobody can see the batch that was in it."""

from __future__ import annotations

import queue
from typing import Any

import numpy as np

ALIGNMENT = 64
SLOTS = 3
_UNMADE = np.empty(0, np.uint8)


class Ring:
    """Lend aligned memory, and take it back when the last array in it is gone.

    A fresh batch of some megabytes costs a page fault for every 4 KiB, about as much as filling
    it, so memory is used again. When that is safe cannot be told from the outside: JAX on a CPU
    does not copy an array that begins at a multiple of 64 bytes, whatever ``may_alias`` says
    (jax 0.7.2 and 0.10.2), and neither does ``tf.numpy_function``. Both hold a reference to the
    array instead. So does every view. Memory therefore comes back when the references are gone.

    Args:
        slots: Pieces of memory that can be lent at the same time.
    """

    def __init__(self, slots: int = SLOTS) -> None:
        # Its put is the one way into a queue that may be called while an object is destroyed.
        self._free: queue.SimpleQueue[np.ndarray | None] = queue.SimpleQueue()
        self._closed = False
        for _ in range(slots):
            self.grow()

    def grow(self) -> None:
        """Let one more piece be lent."""
        self._free.put(_UNMADE)

    @property
    def exhausted(self) -> bool:
        """Whether every piece is lent."""
        return self._free.empty()

    def lend(self, size: int, wait: bool = True) -> np.ndarray | None:
        """Return ``size`` bytes, uint8 ``(size,)``, that begin at a multiple of 64.

        Args:
            size: Bytes.
            wait: Wait for a free piece; else there is one more when none is free.

        Returns:
            The bytes, or None after `close`.
        """
        try:
            memory = self._free.get(block=wait)
        except queue.Empty:
            memory = _UNMADE
        if memory is None or self._closed:
            return None
        if len(memory) < size + ALIGNMENT:
            memory = np.empty(size + ALIGNMENT, np.uint8)
        return np.asarray(_Loan(memory, size, self._free))

    def close(self, waiting: int) -> None:
        """Wake those that wait, at most so many, and lend nothing more."""
        self._closed = True
        for _ in range(waiting):
            self._free.put(None)


class _Loan:
    """The owner of lent memory, kept alive by each array in it; gives it back when it goes."""

    __slots__ = ("__array_interface__", "_free", "_memory")

    def __init__(self, memory: np.ndarray, size: int, free: Any) -> None:
        self._memory, self._free = memory, free
        address = memory.ctypes.data
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (size,),
            "data": (address + -address % ALIGNMENT, False),
        }

    def __del__(self) -> None:
        self._free.put(self._memory)


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
