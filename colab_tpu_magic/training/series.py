"""Bounded metric series: thousands of points at most, however many batches there are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

MAX_POINTS = 1000


@dataclass
class Series:
    """Keep (step, value) points of one metric, thinned so that memory stays bounded.

    When the series is full, each pair of neighbouring buckets keeps its lowest and its
    highest point, so that spikes survive.

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
        for start in range(1, last, 4):
            bucket = range(start, min(start + 4, last))
            finite = [i for i in bucket if math.isfinite(self.values[i])] or list(bucket)
            low = min(finite, key=lambda i: self.values[i])
            high = max(finite, key=lambda i: self.values[i])
            keep += sorted({low, high})
        keep.append(last)
        self.steps = [self.steps[i] for i in keep]
        self.values = [self.values[i] for i in keep]
