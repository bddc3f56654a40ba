"""Picture of data parallel training: a batch in shares, a model on every replica, one update."""

from __future__ import annotations

from .drawing import BLUE, GREEN, ORANGE, QUIET, arrow, box, middle, picture, text
from .figures import Figures

WIDTH = 620
_MOST = 8


def replicas(figures: Figures) -> str:
    """Draw the batch cut in shares, a replica for each, and the mean of the gradients."""
    shown = min(figures.replicas, _MOST)
    each = (WIDTH - 20) / shown
    each = min(each, 150.0)
    left = (WIDTH - each * shown) / 2
    parts = [middle(WIDTH / 2, 14, f"one batch of {figures.batch:,} rows", 'font-weight="600"')]
    for index in range(shown):
        x = left + index * each
        centre = x + each / 2
        parts += [
            box(x + 3, 22, each - 6, 24, ORANGE, 0.3),
            middle(centre, 38, f"{figures.share:,}"),
            arrow(centre, 50, centre, 68),
            box(x + 3, 72, each - 6, 56, BLUE, 0.25),
            middle(centre, 90, f"R{index}", 'font-weight="600"'),
            middle(centre, 106, "all weights", 'font-size="10"'),
            middle(centre, 119, "gradient", 'font-size="10"'),
            arrow(centre, 132, centre, 150),
        ]
    parts += [
        box(left + 3, 154, each * shown - 6, 24, GREEN, 0.3),
        middle(
            WIDTH / 2,
            170,
            "mean of the gradients, the same update everywhere" if shown > 2 else "mean of the gradients",
        ),
    ]
    more = f"{figures.replicas - shown:,} more replicas are not drawn. " if figures.replicas > shown else ""
    parts.append(text(10, 198, f"{more}Numbers: {figures.origin}", QUIET))
    words = f"{figures.replicas} replicas, each with all weights and {figures.share} of {figures.batch} rows."
    return picture(parts, WIDTH, 206, words)
