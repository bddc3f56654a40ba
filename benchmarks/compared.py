"""A published figure beside ours, and how the two are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .published import Published

CLOSE = 0.25
"""Ours is close where it is within this part of what was published."""


@dataclass(frozen=True)
class Compared:
    """A published figure and ours.

    Attributes:
        name: What was compared.
        low: Ours with collectives and what has no estimate added, in the published figure's unit; 0 when refused.
        high: Ours by the compiler's estimate alone.
        published: The published figure.
        said: Why there is none of ours, or ``""``.
        whole: The lower end if memory gave its whole rate.
    """

    name: str
    low: float
    high: float
    published: float
    said: str = ""
    whole: float = 0.0

    @property
    def ratio(self) -> float:
        """Ours, the lower end, as a multiple of what was published."""
        return self.low / self.published

    @property
    def close(self) -> bool:
        """Whether the two are within 25 % of each other."""
        return abs(self.ratio - 1) <= CLOSE


def rate(parts: Sequence[tuple[int, int, float]]) -> float:
    """Return the rows a second of a training of several kinds of step.

    Args:
        parts: Of each kind the rows of a step, how many steps there are, and the seconds that one takes.

    Example:
        >>> rate([(512, 9, 1.0), (512, 1, 3.0)])
        426.6666666666667
    """
    return sum(rows * steps for rows, steps, _ in parts) / sum(steps * seconds for _, steps, seconds in parts)


def deeper(two: Any, four: Any, layers: int) -> Any:
    """Return the row of a model of more layers, from those of itself with two and with four."""
    if not (two.fits and four.fits):
        return two if not two.fits else four
    low, high = (
        short + (long - short) * (layers - 2) / 2
        for short, long in zip(two.step_seconds, four.step_seconds, strict=True)
    )
    saved = two.device_seconds - two.full_memory_rate_seconds
    more = four.device_seconds - four.full_memory_rate_seconds - saved
    return replace(
        four,
        step_seconds=(low, high),
        examples_per_second=(four.batch_size / high, four.batch_size / low),
        device_seconds=low,
        full_memory_rate_seconds=low - saved - more * (layers - 2) / 2,
    )


def against(one: Published, rows: Sequence[Any]) -> Compared:
    """Return a published figure beside ours.

    Args:
        one: What was published.
        rows: The plan's row for each of its parts.
    """
    refused = next((row for row in rows if not row.fits), None)
    if refused is not None:
        return Compared(one.name, 0.0, 0.0, one.examples_per_second, refused.reason)
    parts = list(zip(one.parts, rows, strict=True))
    low, high, whole = (
        rate([(part.batch_size, part.steps, seconds(row)) for part, row in parts])
        for seconds in (lambda row: row.step_seconds[1], lambda row: row.step_seconds[0], whole_seconds)
    )
    return Compared(one.name, low, high, one.examples_per_second, whole=whole)


def whole_seconds(row: Any) -> float:
    """Return the upper end of a step's seconds if memory gave its whole rate."""
    return float(row.step_seconds[1] - row.device_seconds + row.full_memory_rate_seconds)


def line(one: Compared, digits: int = 0) -> list[str]:
    """Return the cells of a comparison: ours, published, ratio, and the ratio at memory's whole rate."""
    if one.said:
        return ["–", f"{one.published:,.{digits}f}", one.said, "–"]
    ours = f"{one.low:,.{digits}f}"
    if f"{one.high:,.{digits}f}" != ours:
        ours += f"–{one.high:,.{digits}f}"
    whole = f"{one.whole / one.published:.2f}" if one.whole else "–"
    return [ours, f"{one.published:,.{digits}f}", f"{one.ratio:.2f}", whole]
