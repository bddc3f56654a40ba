"""The tiles that a TPU cuts every matrix into, and what they make of a width.

Source: cloud.google.com/tpu/docs/performance-guide, read in November 2026.
"""

from __future__ import annotations

TILE_ROWS, TILE_COLUMNS = 8, 128


def padded(width: int, tile: int = TILE_COLUMNS) -> int:
    """Return what is computed for a width: the next multiple of a tile.

    Example:
        >>> padded(130), padded(128), padded(13, TILE_ROWS)
        (256, 128, 16)
    """
    return -(-width // tile) * tile
