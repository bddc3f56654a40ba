"""The picture of a step's time: a bar for each layer, forward and backward, and for what is no layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .chosen import Share, shares
from .strokes import BLUE, GREY, ORANGE, Drawing, bar, fitted_path, legend, text
from .words import share_text

if TYPE_CHECKING:
    from ...planner.row import Row

FORWARD, BACKWARD, OTHER = BLUE, ORANGE, GREY
WIDTH = 440.0
_ROW, _BAR, _RIGHT = 23.0, 13.0, 50.0
_NAMES_MOST = 170.0


def layers_drawing(row: Row) -> Drawing | None:
    """Return the shares of a row's step as bars; None without an estimate of them."""
    bars = shares(row)
    if not bars:
        return None
    left = min(_NAMES_MOST, 14 + 6.5 * max(len(one.name) for one in bars))
    wide = WIDTH - left - _RIGHT
    most = max(one.total for one in bars)
    entries = [(FORWARD, "forward"), (BACKWARD, "backward")] if any(one.is_layer for one in bars) else []
    entries += [(OTHER, "no layer")] if any(not one.is_layer and not one.backward for one in bars) else []
    head, high = legend(left, 12, entries, wide + _RIGHT)
    parts = [head]
    for number, one in enumerate(bars):
        parts.append(_bar(one, 10 + high + _ROW * number, left, wide / most))
    said = "; ".join(f"{one.name} {share_text(one.total)}" for one in bars)
    return Drawing("".join(parts), WIDTH, 14 + high + _ROW * len(bars), f"Shares of a step's time: {said}.")


def _bar(one: Share, y: float, left: float, scale: float) -> str:
    middle, top = y + _ROW / 2 + 4, y + (_ROW - _BAR) / 2
    other = not one.is_layer and not one.backward
    more = 'text-anchor="end"' + (' opacity=".72"' if not one.is_layer else "")
    parts = [text(left - 10, middle, fitted_path(one.name, left - 8), more, one.name)]
    first, second = one.forward * scale, one.backward * scale
    parts.append(bar(left, top, first, _BAR, OTHER if other else FORWARD, f"{one.name}: {share_text(one.forward)}"))
    if second > 0:
        parts.append(bar(left + first, top, second, _BAR, BACKWARD, f"backward: {share_text(one.backward)}"))
    tabular = 'style="font-variant-numeric:tabular-nums"'
    parts.append(text(left + first + second + 6, middle, share_text(one.total), tabular))
    return "".join(parts)
