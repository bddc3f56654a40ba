"""The picture of what fits: a bar for each row, as parts of a device's memory, against the line where it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...sizes import bytes_text
from .chosen import drawn_rows
from .strokes import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, Drawing, bar, fitted, legend, line, text
from .words import STATUS_WORDS, labels, needed_text

if TYPE_CHECKING:
    from ...planner.plan import Plan
    from ...planner.row import Row

PARTS = {
    "parameters": (BLUE, "parameters"),
    "optimizer": (SKY, "optimizer"),
    "state": (GREY, "other state"),
    "batch": (ORANGE, "batch"),
    "activations": (GREEN, "activations and gradients"),
    "code": (PURPLE, "program"),
}
WIDTH = 720.0
_ROW, _BAR = 27.0, 15.0
_LEFT_MOST, _RIGHT_LEAST = 220.0, 110.0
_WIDE_LETTER = 7.6
"""Width of a letter at 12 pixels in the widest of the fonts (DejaVu Sans): at the right edge nothing may be cut."""
_FULL = 0.78
"""Where the line of the whole memory stands, as a part of the bars' width; what needs more goes beyond."""
_QUIET_SMALL = 'opacity=".72" font-size="11"'


def memory_drawing(plan: Plan) -> Drawing:
    """Return a bar a row: what each device needs, against what the compiler allows."""
    rows = drawn_rows(plan)
    names = labels(rows)
    left = min(_LEFT_MOST, 14 + 6.6 * max((len(name) for name in names), default=0))
    beside = max(_RIGHT_LEAST, 28 + _WIDE_LETTER * max((len(_answer(row)) for row in rows), default=0))
    wide = WIDTH - left - beside
    full = left + _FULL * wide
    drawn = dict.fromkeys(name for row in rows if row.memory is not None for name, size in row.memory.parts() if size)
    entries = [PARTS[name] for name in PARTS if name in drawn]
    if any(row.status == "out-of-memory" and row.memory is None for row in rows):
        entries.append((RED, "too much"))
    head, high = legend(left, 12, entries, wide + beside)
    top = 12 + high
    bottom = top + _ROW * len(rows)
    parts = [head]
    for number, (row, name) in enumerate(zip(rows, names)):
        parts.append(_row(row, name, top + _ROW * number, left, wide, beside))
    if any(row.allowed_bytes for row in rows):
        dashes = 'stroke="currentColor" stroke-opacity=".75" stroke-width="1.3" stroke-dasharray="4 3"'
        parts.append(line(full, top - 2, full, bottom + 2, dashes))
        parts.append(text(full, bottom + 16, "all of a device's memory", f'text-anchor="middle" {_QUIET_SMALL}'))
        bottom += 20
    return Drawing("".join(parts), WIDTH, bottom + 2, _described(rows, names))


def _row(row: Row, name: str, y: float, left: float, wide: float, beside: float) -> str:
    middle, top = y + _ROW / 2 + 4, y + (_ROW - _BAR) / 2
    full = _FULL * wide
    weight = 'text-anchor="end"'
    parts = [text(left - 10, middle, fitted(name, left - 12), weight)]
    if row.status == "refused" or not row.allowed_bytes:
        said = STATUS_WORDS.get(row.status, row.status)
        words = f"{said}: {row.reason}" if row.reason else said
        more = "" if row.status == "refused" else 'opacity=".6"'
        return "".join([*parts, text(left + 4, middle, fitted(words, wide + beside - 8), more, row.reason)])
    parts.append(
        f'<rect x="{left:g}" y="{top:g}" width="{full:g}" height="{_BAR:g}" rx="2" fill="currentColor" opacity=".09"/>'
    )
    if row.status == "pending":
        parts.append(text(left + 6, middle, "waiting", 'opacity=".6" font-size="11"'))
        return "".join(parts)
    needed = row.needed_bytes or (row.memory.needed if row.memory is not None else 0)
    scale = full / row.allowed_bytes
    limit = wide
    if row.memory is not None:
        x = left
        for part, size in row.memory.parts():
            long = min(size * scale, left + limit - x)
            if size and long > 0:
                tip = f"{PARTS[part][1]}: {bytes_text(size)}"
                parts.append(bar(x, top, max(long, 1.5), _BAR, PARTS[part][0], tip))
                x += long
    elif needed:
        long = min(needed * scale, limit)
        parts.append(bar(left, top, long, _BAR, RED, row.reason, 'fill-opacity=".75"'))
    if needed * scale > limit:  # the bar goes on beyond the picture
        cut = left + limit - 12
        parts.append(
            f'<path d="M{cut:g} {top - 2:g}l5 {_BAR / 2 + 2:g}l-5 {_BAR / 2 + 2:g}" fill="none" '
            'stroke="currentColor" stroke-width="2"/>'
        )
    right = left + wide + 10
    sign, colour = ("✓", GREEN) if row.fits else ("✕", RED)
    parts.append(text(right, middle, sign, f'fill="{colour}" font-weight="700"'))
    parts.append(text(right + 16, middle, _answer(row), 'style="font-variant-numeric:tabular-nums"', row.reason))
    return "".join(parts)


def _answer(row: Row) -> str:
    """Return what stands beside a bar: what is needed of what there is, or how the compiler answered."""
    return needed_text(row) or STATUS_WORDS.get(row.status, row.status)


def _described(rows: list[Row], names: list[str]) -> str:
    said = [
        f"{name}: {STATUS_WORDS.get(row.status, row.status)}{', ' if needed_text(row) else ''}{needed_text(row)}"
        for row, name in zip(rows, names)
    ]
    return f"Memory on each device. {'; '.join(said)}."
