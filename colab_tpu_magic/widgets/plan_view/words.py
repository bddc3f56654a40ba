"""A plan's figures in words: bytes, rates and times with no more digits than an estimate has, names of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ...sizes import DIGITS, bytes_text

if TYPE_CHECKING:
    from ...planner.plan import Plan
    from ...planner.row import Row

STATUS_WORDS = {"fits": "fits", "out-of-memory": "does not fit", "refused": "not compiled", "pending": "waiting"}
_BOUNDS = {
    "MXU": "The matrix units (MXU) hold a step up: the arithmetic itself is the limit.",
    "HBM": "The memory (HBM) holds a step up: values are moved for longer than they are computed with.",
    "neither": "Neither the matrix units nor the memory is at its limit: operations are small, or wait for each other.",
}


def needed_text(row: Row) -> str:
    """Write what a device needs of what it has: ``"2.87 of 15.75 GiB"``, ``"12 KiB of 15.75 GiB"``; empty where it is not known."""
    needed = row.needed_bytes or (row.memory.needed if row.memory is not None else 0)
    if not needed or not row.allowed_bytes:
        return ""
    first = f"{needed / 2**30:,.2f}" if needed >= 0.1 * 2**30 else bytes_text(needed)
    return f"{first} of {row.allowed_bytes / 2**30:,.2f} GiB"


def rate_text(rate: float) -> str:
    """Write examples per second with three digits.

    Example:
        >>> [rate_text(rate) for rate in (40_961.7, 812.4, 3.14159)]
        ['41,000', '812', '3.14']
    """
    return f"{_rounded(rate):,.10g}" if math.isfinite(rate) else "–"


def rates_text(ends: tuple[float, float]) -> str:
    """Write a range of rates, or one where both ends read the same; a dash where there is no estimate."""
    return _range([rate_text(end) for end in ends]) if ends[0] > 0 else "–"


def time_text(seconds: float) -> str:
    """Write the time of a step.

    Example:
        >>> [time_text(seconds) for seconds in (0.00000412, 0.001234, 0.3195, 2.5)]
        ['4.12 µs', '1.23 ms', '320 ms', '2.5 s']
    """
    for size, unit in ((1e-3, "µs"), (1.0, "ms")):
        if seconds < size * 0.9995:
            return f"{_rounded(seconds / size * 1e3):g} {unit}"
    return f"{_rounded(seconds):,g} s"


def times_text(ends: tuple[float, float]) -> str:
    """Write a range of times, or one where both ends read the same."""
    if ends[0] <= 0:
        return "–"
    low, high = map(time_text, ends)
    unit = f" {low.rpartition(' ')[2]}"
    return _range([low.removesuffix(unit), high] if high.endswith(unit) and low != high else [low, high])


def tick_text(rate: float) -> str:
    """Write a rate beside an axis.

    Example:
        >>> [tick_text(rate) for rate in (0.5, 20_000.0, 1_500_000.0)]
        ['0.5', '20,000', '1.5 M']
    """
    return f"{rate / 1e6:,.6g} M" if rate >= 1e6 else f"{rate:,.6g}"


def share_text(share: float) -> str:
    """Write a share of 0 to 1 as per cent; what is there and rounds to nothing as less than one."""
    return f"{share:.0%}" if not 0 < share < 0.005 else "< 1%"


def labels(rows: Sequence[Row]) -> list[str]:
    """Return a name for each row that tells it from the others: ``"v5e-1 · batch 1,024 · bfloat16"``."""
    several_targets = len({row.target for row in rows}) > 1
    several_precisions = len({row.precision for row in rows}) > 1
    return [row_label(row, several_targets, several_precisions) for row in rows]


def row_label(row: Row, with_target: bool = True, with_precision: bool = True) -> str:
    """Return a row's name."""
    parts = [row.target] if with_target else []
    parts.append(f"batch {row.batch_size:,}")
    parts += [precision_text(row.precision)] if with_precision else []
    return " · ".join(parts)


def precision_text(precision: str) -> str:
    """Write a precision; the model's own has no name."""
    return precision or "own precision"


def bound_text(row: Row) -> str:
    """Say in a sentence what holds a step up; empty where it is not known."""
    return _BOUNDS.get(row.bound, "")


def once(sentences: Iterable[str]) -> list[str]:
    """Return sentences without those that were there before."""
    return list(dict.fromkeys(filter(None, sentences)))


def notes_of(plan: Plan) -> list[str]:
    """Return all that the rows say of how their figures were made, each sentence once."""
    return once([*(plan.problems if plan.complete else ()), *(note for row in plan.rows for note in row.notes)])


def _rounded(value: float) -> float:
    if not value or not math.isfinite(value):
        return value
    return round(value, DIGITS - 1 - math.floor(math.log10(abs(value))))


def _range(ends: Sequence[str]) -> str:
    low, high = ends
    return low if low == high else f"{low}–{high}"
