"""Trap ``tile-padding``: a layer just wider than a tile, so that much of the next tile is padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...finding import Finding
from ...prepared import PreparedFit
from ...tiles import TILE_COLUMNS, padded
from ..base import Trap

if TYPE_CHECKING:
    from ....backends.base import Runtime

WORTH_IT = 1.3
WIDTHS = ("units", "filters", "output_dim", "key_dim")


class TilePadding(Trap):
    """A TPU cuts every matrix into tiles of 8 × 128 numbers and fills the last ones up with zeros.

    A layer of 130 units takes as long and as much memory as one of 256. Widths up to 128 cost one tile
    whatever they are; from there on, multiples of 128 are free of waste.
    """

    id = "tile-padding"
    title = "Widths just over a tile"
    source = "cloud.google.com/tpu/docs/performance-guide (2026): features a multiple of 128"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Look for trainable layers that pad to at least 1.3 times their width; name the worst."""
        wide: dict[int, Any] = {}
        for layer in prepared.request.model._flatten_layers(include_self=False):
            width = _width(layer)
            if width is not None and layer.trainable and width > TILE_COLUMNS and padded(width) / width >= WORTH_IT:
                wide.setdefault(width, layer)
        if not wide:
            return []
        width, layer = max(wide.items(), key=lambda one: padded(one[0]) / one[0])
        below = width // TILE_COLUMNS * TILE_COLUMNS
        others = f" Also just over a tile: {', '.join(map(str, sorted(set(wide) - {width})))}." if len(wide) > 1 else ""
        message = (
            f"{type(layer).__name__} {layer.name!r} is {width} wide, and a TPU computes {padded(width)}: "
            f"{1 - width / padded(width):.0%} of its work is padding. A width of {below} or {padded(width)} is free of it."
            f"{others}"
        )
        return [self.finding("note", message, f"keras.layers.{type(layer).__name__}({below}, ...)")]


def _width(layer: Any) -> int | None:
    widths = [getattr(layer, name, None) for name in WIDTHS]
    return next((width for width in widths if isinstance(width, int)), None)
