"""Picture of static shapes: one program for all batches, or one for each shape."""

from __future__ import annotations

from .drawing import BLUE, GREEN, ORANGE, QUIET, arrow, box, middle, picture, text, title
from .figures import Figures

WIDTH = 620
_HIGH = 46.0


def shapes(figures: Figures) -> str:
    """Draw the batches of an epoch with a short last one, and with every one full."""
    batch = figures.batch
    rest = max(1, batch // 3)
    parts = [title(10, 16, "as the data comes"), title(10, 126, "with full batches")]
    for lane, top in enumerate((26.0, 136.0)):
        for index in range(4):
            short = lane == 0 and index == 3
            high = _HIGH / 3 if short else _HIGH
            x = 10.0 + 78 * index
            parts.append(box(x, top + _HIGH - high, 66, high, ORANGE if short else BLUE))
            if lane == 1 and index == 3:
                parts.append(box(x, top, 66, _HIGH * 2 / 3, GREEN, 0.45))
            parts.append(middle(x + 33, top + _HIGH + 14, f"{rest if short else batch:,}"))
        parts.append(arrow(330, top + _HIGH / 2, 372, top + _HIGH / 2))
        programs = (("step for", batch, BLUE), ("step for", rest, ORANGE))[: 2 - lane]
        for index, (what, rows, colour) in enumerate(programs):
            x = 384.0 + 112 * index
            parts += [box(x, top + 4, 100, _HIGH - 8, colour, 0.2)]
            parts += [middle(x + 50, top + 21, what), middle(x + 50, top + 35, f"{rows:,} rows", 'font-weight="600"')]
        parts.append(text(384, top + _HIGH + 14, "compiled twice" if lane == 0 else "compiled once", QUIET))
    parts += [
        box(10, 214, 12, 10, GREEN, 0.45),
        text(27, 223, "the first rows of the next shuffle: no row is lost"),
    ]
    words = f"Batches of {batch} rows and a last one of {rest} are compiled twice; full batches once."
    return picture(parts, WIDTH, 232, words)
