"""Find out how long the device had nothing to do because the next batch was not there yet."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

MOST_HANDED = 4096
# How often a host that waits for data looks whether the device is still at the step before.
GLANCE_SECONDS = 0.002


class Waits:
    """Count the waiting for data of one feed.

    Where Keras asks the feed between two steps (JAX), the step before may still run while the
    host waits: only the time after its end counts. Where the step takes its batches by itself
    (TensorFlow), the feed writes down when it handed each over, and `of_steps` works out the rest.

    Attributes:
        seconds: Waited so far.
        device_busy: Returns whether the device still works, without waiting for it.
        handing: Whether to write down when batches are handed over.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.device_busy: Callable[[], bool] = _never
        self.handing = False
        self._handed: deque[float] = deque(maxlen=MOST_HANDED)

    def watched(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield batches that are made when they are asked for, and count the time that takes."""
        while True:
            asked, busy = time.perf_counter(), self.device_busy()
            batch = next(batches, None)
            if batch is None:
                return
            if not busy or not self.device_busy():
                self.seconds += time.perf_counter() - asked
            yield batch
            del batch

    def handed_over(self, batches: Iterator[Any], size: Callable[[Any], int] | None = None) -> Iterator[Any]:
        """Yield batches, and write down when; a new pass forgets the one before.

        Args:
            batches: The batches, or blocks of them.
            size: Returns how many batches a block has; None where each stands for itself.
        """
        handed = self._handed = deque(maxlen=MOST_HANDED)
        for batch in batches:
            handed.extend(repeat(time.perf_counter(), 1 if size is None else size(batch)))
            yield batch
            del batch

    def of_steps(self, began: float, ended: float, steps: int) -> float:
        """Return and count how long some steps waited for their batches.

        A step computes from the moment its batch is there; steps of one dispatch follow each
        other. With the same computing time ``c`` for each, the last ends at the latest of
        ``there[j] + (steps - j) * c``; this is solved for ``c``.

        Args:
            began: When the steps were dispatched, ``time.perf_counter()`` seconds.
            ended: When the last of them had ended.
            steps: How many.
        """
        handed = self._handed
        if len(handed) < steps or steps < 1:
            return 0.0
        there = [max(began, handed.popleft()) for _ in range(steps)]
        computing = min(max(0.0, ended - at) / (steps - j) for j, at in enumerate(there))
        waited = max(0.0, ended - began - steps * computing)
        self.seconds += waited
        return waited


def _never() -> bool:
    return False
