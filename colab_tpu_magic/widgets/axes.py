"""What a chart needs before it is drawn: which points, which range, which ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..training.run import Run
from ..training.series import Series

MAX_DRAWN_POINTS = 300
# Beyond these a value cannot be placed with floats: shown as infinite, or as zero.
_TOO_LARGE, _TOO_SMALL = 1e100, 1e-200

Points = list[tuple[float, float]]


def drawable(series: Series | None) -> tuple[Points, int]:
    """Return at most 300 finite points of a series and how many were not finite."""
    if series is None:
        return [], 0
    pairs = zip(series.steps, series.values, strict=True)
    points: Points = [(step, value) for step, value in pairs if -_TOO_LARGE < value < _TOO_LARGE]
    return decimate(points), len(series.steps) - len(points)


def decimate(points: Points, limit: int = MAX_DRAWN_POINTS) -> Points:
    """Thin points to at most ``limit``: keep the first, the last, and the extremes of each stretch."""
    if len(points) <= limit:
        return points
    stretches = (limit - 2) // 2
    width = (len(points) - 2) / stretches
    kept = [points[0]]
    for i in range(stretches):
        stretch = points[1 + int(i * width) : 1 + int((i + 1) * width)]
        low = min(stretch, key=lambda point: point[1])
        high = max(stretch, key=lambda point: point[1])
        kept += [low] if low is high else sorted((low, high))
    return [*kept, points[-1]]


def nice_step(span: float, count: int) -> float:
    """Return the step 1, 2 or 5 times a power of ten that cuts a span into at most ``count`` parts."""
    power = 10.0 ** math.floor(math.log10(span / count))
    return next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power * count >= span * 0.999999)


def value_axis(values: Sequence[float]) -> tuple[float, float, list[float], int]:
    """Return the lowest and highest value of the axis, its ticks and their decimals."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    largest = max(abs(low), abs(high))
    if high - low <= max(1e-9 * largest, _TOO_SMALL):
        spread = 0.1 * largest if largest > _TOO_SMALL else 0.5
        low, high = low - spread, high + spread
    margin = (high - low) * 0.04
    low, high = low - margin, high + margin
    step = nice_step(high - low, 5)
    first, last = math.ceil(low / step), math.floor(high / step)
    return low, high, [i * step for i in range(first, last + 1)], max(0, -math.floor(math.log10(step) + 1e-9))


def tick_text(tick: float, decimals: int) -> str:
    """Write a tick with its axis' decimals, or with a power of ten where that would be long."""
    if tick and (abs(tick) >= 1e6 or decimals > 5):
        return f"{tick:.3g}"
    return f"{tick:,.{decimals}f}"


def step_ticks(last_step: float) -> list[int]:
    """Return whole steps from 0, at most about five, at sensible distances."""
    step = max(1, int(nice_step(last_step, 4)))
    return list(range(0, int(last_step) + 1, step))


def epoch_ends(run: Run, last_step: float) -> list[tuple[int, int]]:
    """Return (epoch, its last step), at most about eight, from the steps per epoch or the validations."""
    if run.steps_per_epoch:
        ends = range(run.steps_per_epoch, int(last_step) + 1, run.steps_per_epoch)
        numbered: Sequence[tuple[int, int]] = [(i + 1, end) for i, end in enumerate(ends)]
    else:
        first = next((series for series in run.validation.values() if series.steps), None)
        numbered = [(i + 1, end) for i, end in enumerate(first.steps)] if first is not None else []
    stride = int(nice_step(len(numbered), 8)) if len(numbered) > 8 else 1
    return [(number, end) for number, end in numbered if number % stride == 0]
