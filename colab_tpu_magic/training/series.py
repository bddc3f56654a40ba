"""Bounded metric series: thousands of points at most, however many batches there are."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field

MAX_POINTS = 1000


@dataclass
class Series:
    """Keep (step, value) points of one metric, thinned so that memory stays bounded.

    When the series is full, each of many equal stretches of steps keeps its lowest and its
    highest point, so that spikes survive and no part of a long run grows thin.

    Attributes:
        name: Metric name, ``"loss"`` or ``"val_accuracy"``.
        steps: Training step of each point, ascending.
        values: Value of each point, may hold NaN.
    """

    name: str
    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    max_points: int = MAX_POINTS

    def add(self, step: int, value: float) -> None:
        """Append a point; thin the series when it is full."""
        self.steps.append(step)
        self.values.append(value)
        if len(self.steps) > self.max_points:
            self._thin()

    def _thin(self) -> None:
        keep: list[int] = [0]
        last = len(self.values) - 1
        buckets = max(1, self.max_points // 4)
        width = (self.steps[last] - self.steps[0]) / buckets
        start = 1
        # Buckets of steps and not of points: the first hour must stay as dense as the last minute.
        for number in range(1, buckets + 1):
            end = bisect_left(self.steps, self.steps[0] + number * width, start, last)
            bucket = range(start, end)
            if not bucket:
                continue
            finite = [i for i in bucket if math.isfinite(self.values[i])] or list(bucket)
            low = min(finite, key=lambda i: self.values[i])
            high = max(finite, key=lambda i: self.values[i])
            keep += sorted({low, high})
            start = end
        keep.append(last)
        self.steps = [self.steps[i] for i in keep]
        self.values = [self.values[i] for i in keep]
