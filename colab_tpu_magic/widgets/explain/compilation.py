"""Picture of jit_compile under TPUStrategy: one compilation, and one too many inside it."""

from __future__ import annotations

from .drawing import BLUE, GREEN, QUIET, RED, arrow, box, middle, picture, text, title
from .figures import Figures


def compilation(figures: Figures) -> str:
    """Draw the step within the strategy's compilation, with and without a second one."""
    parts = []
    for index, (name, colour) in enumerate((("jit_compile=True", RED), ("jit_compile=False", GREEN))):
        x = 10.0 + 310 * index
        parts += [
            title(x, 16, name),
            box(x, 26, 200, 96, BLUE, 0.12),
            text(x + 10, 44, "compiled by TPUStrategy", QUIET),
        ]
        if index == 0:
            parts += [
                box(x + 16, 54, 168, 58, RED, 0.14, 'stroke-dasharray="4 3"'),
                text(x + 26, 70, "compiled again", QUIET),
            ]
        parts += [box(x + 40, 78, 120, 26, BLUE, 0.35), middle(x + 100, 95, "training step")]
        parts.append(arrow(x + 206, 74, x + 236, 74))
        parts.append(middle(x + 266, 78, "error" if index == 0 else "TPU", f'font-weight="600" style="fill:{colour}"'))
    parts.append(text(10, 142, "“could not find registered transfer manager for platform Host”", QUIET))
    words = "A second compilation inside that of TPUStrategy ends in an error; without it the step reaches the TPU."
    return picture(parts, 620, 150, words)
