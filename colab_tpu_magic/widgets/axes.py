"""The scales of a chart: from where to where, linear or logarithmic, and where the ticks stand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from ..training.run import Run

# Values nearer than this to zero are shown as zero: floats cannot place them.
_TOO_SMALL = 1e-200
_MARGIN = 0.04
FEWEST_LOG_TICKS, MOST_DECADES, MOST_EPOCH_TICKS = 3, 7, 8


@dataclass(frozen=True)
class ValueAxis:
    """An upright axis.

    Attributes:
        low: Its lower end; the decimal logarithm of it when logarithmic.
        high: Its upper end, likewise.
        ticks: Where its ticks stand, in the same measure, each with its label.
        log: Whether it is logarithmic.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False


@lru_cache(maxsize=64)
def value_axis(low: float, high: float, log: bool = False) -> ValueAxis:
    """Return the axis for values between two finite ones.

    Args:
        low: The lowest value that is drawn, above 0 for a logarithmic axis.
        high: The highest.
        log: Make it logarithmic.
    """
    return _log_axis(math.log10(low), math.log10(high)) if log else _linear_axis(low, high)


def nice_step(span: float, count: int) -> float:
    """Return the step 1, 2 or 5 times a power of ten that cuts a span into at most ``count`` parts."""
    power = 10.0 ** math.floor(math.log10(span / count))
    return next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power * count >= span * 0.999999)


def step_ticks(last_step: float) -> list[int]:
    """Return whole numbers from 0, at most about five, at sensible distances."""
    step = max(1, int(nice_step(last_step, 4)))
    return list(range(0, int(last_step) + 1, step))


def epoch_ends(run: Run, last_step: float) -> tuple[tuple[int, int], ...]:
    """Return (epoch, its last step), at most about eight, from the steps per epoch or the validations."""
    if run.steps_per_epoch:
        count = int(last_step) // run.steps_per_epoch
        ends = range(run.steps_per_epoch, count * run.steps_per_epoch + 1, run.steps_per_epoch)
    else:
        first = next((series for series in run.validation.values() if series.steps), None)
        ends = first.steps if first is not None else []  # type: ignore[assignment]
        count = len(ends)
    stride = int(nice_step(count, MOST_EPOCH_TICKS)) if count > MOST_EPOCH_TICKS else 1
    return tuple((run.first_epoch - 1 + number, ends[number - 1]) for number in range(stride, count + 1, stride))


def short_number(value: float) -> str:
    """Write a tick of a logarithmic axis, or one that is very large or small, in few letters.

    Example:
        >>> [short_number(value) for value in (0.001, 20.0, 5e-7, 1250000.0)]
        ['0.001', '20', '5e-7', '1.25e6']
    """
    if value and not 1e-4 <= abs(value) < 1e5:
        mantissa, _, power = f"{value:.3g}".partition("e")
        return f"{mantissa}e{int(power)}" if power else mantissa
    return f"{value:.6g}"


def _linear_axis(low: float, high: float) -> ValueAxis:
    largest = max(abs(low), abs(high))
    if high - low <= max(1e-9 * largest, _TOO_SMALL):
        spread = 0.1 * largest if largest > _TOO_SMALL else 0.5
        low, high = low - spread, high + spread
    margin = (high - low) * _MARGIN
    low, high = low - margin, high + margin
    step = nice_step(high - low, 6)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    places = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return ValueAxis(low, high, tuple((place, _linear_label(place, decimals)) for place in places))


def _linear_label(tick: float, decimals: int) -> str:
    if tick and (abs(tick) >= 1e5 or decimals > 4):
        return short_number(tick)
    return f"{tick:,.{decimals}f}"


def _log_axis(low: float, high: float) -> ValueAxis:
    if high - low < 1e-3:
        low, high = low - 0.05, high + 0.05
    margin = (high - low) * _MARGIN
    low, high = low - margin, high + margin
    ticks = tuple((math.log10(value), short_number(value)) for value in _log_ticks(low, high))
    return ValueAxis(low, high, ticks, log=True)


def _log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten; where there are too few, 1-2-5 between them; where still too few, even steps."""
    first, last = math.ceil(low), math.floor(high)
    decades = last - first + 1
    if decades > MOST_DECADES:
        stride = int(nice_step(decades, MOST_DECADES))
        return [10.0**power for power in range(first - first % -stride, last + 1, stride)]
    if decades >= FEWEST_LOG_TICKS:
        return [10.0**power for power in range(first, last + 1)]
    between = [factor * 10.0**power for power in range(first - 1, last + 1) for factor in (1, 2, 5)]
    inside = [value for value in between if low <= math.log10(value) <= high]
    if len(inside) >= FEWEST_LOG_TICKS:
        return inside
    lowest, highest = 10.0**low, 10.0**high
    step = nice_step(highest - lowest, 5)
    return [i * step for i in range(math.ceil(lowest / step), math.floor(highest / step) + 1)]
