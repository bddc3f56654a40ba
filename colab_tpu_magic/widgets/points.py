"""Which points of a series are drawn: those that can be, smoothed, and no more than a screen shows."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from operator import ne

from ..training.series import Series

# Beyond it a value cannot be placed with floats: treated as infinite.
_TOO_LARGE = 1e100
# What is left of the start at zero, below which a correction of the mean shows nothing.
_CORRECTED = 1e-4


@dataclass(frozen=True)
class Points:
    """The part of a series that an axis can show.

    Attributes:
        xs: Steps, or epochs, ascending.
        values: The value at each.
        not_finite: Values left out because they are NaN or infinite.
        not_positive: Values left out because a logarithmic axis has no place for them.
    """

    xs: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    not_finite: int = 0
    not_positive: int = 0

    def positive(self) -> Points:
        """Return the points above zero, for a logarithmic axis."""
        if not self.values or min(self.values) > 0:
            return self
        kept = [i for i, value in enumerate(self.values) if value > 0]
        left_out = len(self.values) - len(kept)
        return Points([self.xs[i] for i in kept], [self.values[i] for i in kept], self.not_finite, left_out)

    def smoothed(self, weight: float) -> Points:
        """Return the exponential mean of the values, every sample with the same weight.

        The mean is corrected for its start at zero (Adam, arXiv:1412.6980, section 3), so that the
        first point is the first value.

        Args:
            weight: Weight of the past, 0 to below 1.
        """
        mean, now, means = 0.0, 1.0 - weight, []
        for value in self.values:
            mean += now * (value - mean)
            means.append(mean)
        past = 1.0
        for i in range(len(means)):
            past *= weight
            if past < _CORRECTED:
                break
            means[i] /= 1.0 - past
        return Points(self.xs, means, self.not_finite, self.not_positive)

    def thinned(self, limit: int) -> Points:
        """Return at most ``limit`` points: the first, the last, and the extremes of equal stretches between."""
        xs, values, last = self.xs, self.values, len(self.values) - 1
        if last < limit:
            return self
        stretches = max(1, (limit - 2) // 2)
        width = (xs[last] - xs[0]) / stretches
        kept, start = [0], 1
        for number in range(1, stretches + 1):
            end = bisect_left(xs, xs[0] + number * width, start, last)
            if start < end:
                stretch = values[start:end]
                low, high = start + stretch.index(min(stretch)), start + stretch.index(max(stretch))
                kept += (low, high) if low < high else (high, low) if high < low else (low,)
                start = end
        kept.append(last)
        return Points([xs[i] for i in kept], [values[i] for i in kept], self.not_finite, self.not_positive)

    def corners(self) -> Points:
        """Return the ends of the stretches in which the value does not change: the same line in fewer points."""
        values = self.values
        changes = [i for i, differs in enumerate(map(ne, values, values[1:])) if differs]
        kept = sorted({0, len(values) - 1, *changes, *(i + 1 for i in changes)})
        if not values or len(kept) == len(values):
            return self
        return Points([self.xs[i] for i in kept], [values[i] for i in kept], self.not_finite, self.not_positive)

    def sampled(self, limit: int) -> Points:
        """Return about every n-th point, at most ``limit`` and the last: enough for a smooth curve."""
        stride = -(-len(self.values) // limit)
        if stride <= 1:
            return self
        xs, values = [*self.xs[::stride], self.xs[-1]], [*self.values[::stride], self.values[-1]]
        return Points(xs, values, self.not_finite, self.not_positive)


def points_of(series: Series | None) -> Points:
    """Return the finite points of a series and how many are not finite."""
    if series is None or not series.values:
        return Points()
    steps, values = series.steps, series.values
    # A sum is NaN or infinite as soon as one value is: most series need no look at each value.
    if math.isfinite(sum(values)) and max(values) < _TOO_LARGE and min(values) > -_TOO_LARGE:
        return Points(steps, values)  # type: ignore[arg-type]
    kept = [i for i, value in enumerate(values) if -_TOO_LARGE < value < _TOO_LARGE]
    return Points([steps[i] for i in kept], [values[i] for i in kept], len(values) - len(kept))
