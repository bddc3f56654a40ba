"""Figures written for people: durations, metric values and rates."""

from __future__ import annotations

import math


def duration_text(seconds: float | None) -> str:
    """Write a duration in seconds for people.

    Example:
        >>> [duration_text(s) for s in (0.043, 3.21, 59.7, 125, 3720)]
        ['0.04 s', '3.2 s', '1 min 00 s', '2 min 05 s', '1 h 02 min']
    """
    if seconds is None or not math.isfinite(seconds):
        return "unknown"
    seconds = max(0.0, seconds)
    if seconds < 0.995:
        return f"{seconds:.2f} s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def number_text(value: float | None) -> str:
    """Write a metric value with four significant digits; name NaN and infinity."""
    if value is None:
        return "–"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value:.4g}"


def rate_text(per_second: float | None, unit: str) -> str:
    """Write a rate per second with thousands separated: ``"12,345 examples/s"``."""
    if per_second is None or not math.isfinite(per_second):
        return f"– {unit}/s"
    return f"{per_second:,.0f} {unit}/s" if per_second >= 100 else f"{per_second:.3g} {unit}/s"
