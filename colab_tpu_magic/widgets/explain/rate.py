"""Picture of the learning rate: many small steps, few small ones, few long ones."""

from __future__ import annotations

import math

from ...rewrite.rules.learning_rate import ADAPTIVE_CAP, SGD_CAP
from .drawing import BLUE, GREEN, ORANGE, QUIET, picture, text
from .figures import Figures

_LEFT, _RIGHT, _TOP = 130.0, 590.0, 16.0


def steps(figures: Figures) -> str:
    """Draw how far an epoch gets with a small batch, a large one, and a large one with a larger rate."""
    growth = max(2.0, figures.batch / max(1, figures.before))
    small = 32
    few = max(1, round(small / growth))
    factor = min(math.sqrt(growth), ADAPTIVE_CAP)
    hop = (_RIGHT - _LEFT) / small
    rows = (
        (f"batch {figures.before:,}", small, hop, BLUE, "the way of an epoch, in small noisy steps"),
        (f"batch {figures.batch:,}", few, hop, ORANGE, f"{growth:.3g} times fewer steps: not as far"),
        (
            "and rate scaled",
            few,
            hop * factor,
            GREEN,
            f"each step {factor:.3g} times as long (Adam), {min(growth, SGD_CAP):.3g} times (SGD)",
        ),
    )
    parts = []
    for index, (name, count, length, colour, note) in enumerate(rows):
        y = _TOP + 52 * index + 18
        parts.append(text(10, y + 4, name, 'font-weight="600"'))
        x = _LEFT
        noise = 5.0 if index == 0 else 1.5
        path = [f"M{x:g} {y:g}"]
        for step in range(count):
            x += length
            path.append(f"L{x:.1f} {y + noise * (-1) ** step:.1f}")
        parts.append(f'<path d="{"".join(path)}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{y + noise * (-1) ** (count - 1):.1f}" r="4" fill="{colour}"/>')
        parts.append(text(_LEFT, y + 22, note, QUIET))
    words = f"With a batch {growth:.3g} times as large an epoch has {growth:.3g} times fewer steps; a larger rate makes each longer."
    return picture(parts, 620, _TOP + 52 * 3 + 4, words)
