"""Which topic has which picture; a topic that is not here is told in words only."""

from __future__ import annotations

from collections.abc import Callable

from .bits import precisions, travelling_bytes, widths
from .compilation import compilation
from .figures import Figures
from .rate import steps
from .replicas import replicas
from .shapes import shapes
from .text import text_to_numbers
from .tiles import batch_in_tiles, width_in_tiles
from .timeline import dispatches, overlap

PICTURES: dict[str, Callable[[Figures], str]] = {
    "scope": replicas,
    "jit-compile": compilation,
    "dtypes": widths,
    "batch-size": batch_in_tiles,
    "static-shapes": shapes,
    "learning-rate": steps,
    "precision": precisions,
    "input-pipeline": overlap,
    "steps-per-execution": dispatches,
    "normalise-on-device": travelling_bytes,
    "text-layers": text_to_numbers,
    "tile-padding": width_in_tiles,
    "indivisible-batch": replicas,
    "dynamic-shapes": shapes,
    "python-feed": overlap,
    "rate-kept": steps,
    "host-loop": dispatches,
    "jit-under-strategy": compilation,
}


def picture_of(topic: str, figures: Figures) -> str:
    """Return a topic's picture as SVG, empty when it has none."""
    draw = PICTURES.get(topic)
    return draw(figures) if draw is not None else ""
