"""Picture of text on the host: words become numbers before they travel."""

from __future__ import annotations

from .drawing import BLUE, GREEN, ORANGE, QUIET, arrow, box, middle, picture, text, title
from .figures import Figures

WIDTH = 620


def text_to_numbers(figures: Figures) -> str:
    """Draw a batch of text that becomes numbers on the CPU, and the layers on the device that train from them."""
    parts = [title(10, 16, "on the host's CPU"), title(400, 16, "on each device")]
    parts += [box(10, 30, 110, 56, ORANGE), middle(65, 54, '"a tiny tpu"'), middle(65, 70, '"learns words"')]
    parts += [arrow(124, 58, 148, 58), box(152, 30, 110, 56, GREEN, 0.2)]
    parts += [middle(207, 54, "layers of text"), middle(207, 70, "of your model", QUIET)]
    parts += [
        arrow(266, 58, 290, 58),
        box(294, 30, 70, 56, BLUE),
        middle(329, 54, "2 9 4 0"),
        middle(329, 70, "7 3 0 0"),
    ]
    parts += [arrow(368, 58, 396, 58), box(400, 30, 210, 56, BLUE, 0.2)]
    parts += [middle(505, 54, "all layers after them"), middle(505, 70, "train", 'font-weight="600"')]
    parts.append(
        text(10, 112, f"A batch of {figures.batch:,} texts is made while the device trains on the one before.", QUIET)
    )
    words = "The model's first layers turn text into numbers on the host; the layers after them train on the devices."
    return picture(parts, WIDTH, 122, words)
