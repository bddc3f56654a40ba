"""The rectangle of one panel: places curves, dots and grid lines in it, as SVG text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from operator import sub

from .axes import ValueAxis, step_ticks

LEFT, RIGHT, TOP, BOTTOM = 54, 14, 62, 44
PANEL_HEIGHT = 262
PLOT_BOTTOM = PANEL_HEIGHT - BOTTOM
QUIET = 'opacity=".75"'
_END = 'text-anchor="end"'
TIPPED_DOTS = 20
"""Most dots that are single elements with a tip: more would cost too many bytes four times a second."""
PIXELS_PER_STRETCH, PIXELS_PER_DOT = 4, 11
MOST_POINTS = 300


@dataclass(frozen=True)
class Plot:
    """Where data is drawn in a panel.

    Curves are written in tenths of a pixel, each point relative to the one before: half the bytes
    of absolute pixels. They stand in a group that scales them down.

    Attributes:
        width: Width of the panel in pixels.
        last_x: The largest step (or epoch) of the axis, which begins at 0.
        axis: The axis of the values.
    """

    width: float
    last_x: float
    axis: ValueAxis

    @property
    def right(self) -> float:
        """The right edge, in pixels."""
        return self.width - RIGHT

    @property
    def most_points(self) -> int:
        """Points of a curve that this width can show."""
        return min(MOST_POINTS, 2 * int((self.right - LEFT) / PIXELS_PER_STRETCH))

    @property
    def most_dots(self) -> int:
        """Dots that stand apart on this width."""
        return int((self.right - LEFT) / PIXELS_PER_DOT)

    def places(self, xs: Sequence[float], values: Sequence[float]) -> tuple[list[int], list[int]]:
        """Return where points stand, in tenths of a pixel from the panel's corner."""
        x_scale = 10 * (self.right - LEFT) / self.last_x
        y_scale = 10 * (PLOT_BOTTOM - TOP) / (self.axis.high - self.axis.low)
        x_zero, y_zero = 10 * LEFT + 0.5, 10 * PLOT_BOTTOM + 0.5 + y_scale * self.axis.low
        if self.axis.log:
            values = [math.log10(value) for value in values]
        return [int(x_zero + x_scale * x) for x in xs], [int(y_zero - y_scale * value) for value in values]

    def curve(self, xs: Sequence[float], values: Sequence[float], style: str) -> str:
        """Return a line through points; nothing for less than two."""
        return curve_path(*self.places(xs, values), style) if len(xs) > 1 else ""

    def dots(self, xs: Sequence[float], values: Sequence[float], colour: str, tips: Sequence[str] = ()) -> str:
        """Return a dot on each point, with a tip where there are few.

        Args:
            xs: Steps or epochs.
            values: The value at each.
            colour: Of the dots.
            tips: What to show under the pointer, one a point, or none.
        """
        x, y = self.places(xs, values)
        if len(tips) == len(x) <= TIPPED_DOTS:
            places = zip(x, y, tips, strict=True)
            dots = "".join(f'<path d="M{a} {b}h0"><title>{escape(tip)}</title></path>' for a, b, tip in places)
        else:
            dots = f'<path d="{"".join(f"M{a} {b}h0" for a, b in zip(x, y, strict=True))}"/>'
        # A line of no length with round ends is a dot, in fewer bytes than a circle.
        return f'<g stroke="{colour}" stroke-width="62" stroke-linecap="round">{dots}</g>'

    def grid(self) -> str:
        """Return the base line, and a line with a label for each tick of the values."""
        return _grid(self.right, self.axis)


def curve_path(x: Sequence[int], y: Sequence[int], style: str) -> str:
    """Return a line through places in tenths of a pixel."""
    moves = [0] * (2 * len(x))
    moves[::2] = map(sub, x, [0, *x])
    moves[1::2] = map(sub, y, [0, *y])
    numbers = " ".join(map(str, moves)).replace(" -", "-")
    return f'<path d="m{numbers}" {style}/>'


def in_tenths(curves: str) -> str:
    """Return curves that are written in tenths of a pixel, scaled to pixels."""
    return f'<g transform="scale(.1)" fill="none" stroke-linejoin="round">{curves}</g>'


def text_svg(x: float, y: float, text: str, attributes: str = "") -> str:
    """Return a line of text, escaped."""
    space = " " if attributes else ""
    return f'<text x="{x:.0f}" y="{y:.0f}"{space}{attributes}>{escape(text)}</text>'


def short(text: str, width: float, letter: float) -> str:
    """Cut a text to a width in pixels, given the width of a letter."""
    letters = max(2, int(width / letter))
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


@lru_cache(maxsize=64)
def _grid(right: float, axis: ValueAxis) -> str:
    scale = (PLOT_BOTTOM - TOP) / (axis.high - axis.low)
    heights = [PLOT_BOTTOM - scale * (place - axis.low) for place, _ in axis.ticks]
    lines = "".join(f"M{LEFT} {y:.1f}H{right:.1f}" for y in heights)
    labels = "".join(text_svg(LEFT - 8, y + 4, label) for y, (_, label) in zip(heights, axis.ticks, strict=True))
    return (
        f'<path d="M{LEFT} {PLOT_BOTTOM}H{right:.1f}" stroke="currentColor" opacity=".45"/>'
        f'<path d="{lines}" stroke="currentColor" opacity=".13"/><g text-anchor="end" {QUIET}>{labels}</g>'
    )


@lru_cache(maxsize=32)
def step_axis(right: float, last_step: float, ends: tuple[tuple[int, int], ...] = (), title: str = "step") -> str:
    """Return the axis under a panel: steps, and below them the ends of epochs.

    Args:
        right: The right edge of the plot in pixels.
        last_step: The last step of the axis.
        ends: (epoch, its last step), for each end that is marked.
        title: What the upper row counts.
    """
    scale, row = (right - LEFT) / last_step, PLOT_BOTTOM + 17
    titles, ticks, lines = text_svg(LEFT - 8, row, title, _END), "", ""
    labels = text_svg(LEFT, row, "0", 'text-anchor="start"')
    for step in step_ticks(last_step):
        x, label = LEFT + scale * step, f"{step:,}"
        ticks += f"M{x:.1f} {PLOT_BOTTOM}v4"
        # Half of the label must fit beside the panel, else it would be cut off.
        sticks_out = scale * (last_step - step) + RIGHT < 3.4 * len(label)
        if step:
            labels += text_svg(x + (RIGHT if sticks_out else 0), row, label, _END if sticks_out else "")
    if ends:
        titles += text_svg(LEFT - 8, row + 15, "epoch", _END)
    for epoch, end in ends:
        x = LEFT + scale * end
        lines += f"M{x:.1f} {TOP}V{PLOT_BOTTOM}"
        labels += text_svg(x, row + 15, str(epoch))
    return (
        f'<path d="{ticks}" stroke="currentColor" opacity=".45"/>'
        f'<path d="{lines}" stroke="currentColor" stroke-dasharray="1 3" opacity=".4"/><g {QUIET} text-anchor="middle">{titles}{labels}</g>'
    )
