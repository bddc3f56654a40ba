"""Pictures of tiles: what a batch fills of them, and what a width pads to."""

from __future__ import annotations

from ...rewrite.rules.batch_size import ROWS_PER_REPLICA
from ...rewrite.tiles import TILE_COLUMNS, TILE_ROWS, padded
from .drawing import BLUE, QUIET, RED, box, outline, picture, text, title
from .figures import Figures

WIDTH = 620
_ROW, _MOST_TILES, _COLUMN = 8.0, 16, 250.0


def batch_in_tiles(figures: Figures) -> str:
    """Draw one replica's share of the batch, before and after, in tiles of eight rows."""
    halves = (("your batch", figures.before, figures.share_before), ("on the TPU", figures.batch, figures.share))
    parts, height = [], 0.0
    most = min(_MOST_TILES, max(padded(share, TILE_ROWS) // TILE_ROWS for _, _, share in halves))
    row = _ROW if most <= 3 else 3 * _ROW / most if most <= 8 else 2.2
    for index, (what, batch, share) in enumerate(halves):
        x = 10.0 + index * (WIDTH / 2)
        rows = padded(share, TILE_ROWS)
        parts.append(
            title(
                x,
                16,
                f"{what}: {batch:,} rows" + (f" = {figures.replicas} × {share:,}" if figures.replicas > 1 else ""),
            )
        )
        used = f"{share / rows:.0%} of the rows are used" if share < rows else "no row is padding"
        tiles = rows // TILE_ROWS
        parts.append(text(x, 32, f"one replica: {tiles:,} tile{'s' if tiles > 1 else ''} high, {used}", QUIET))
        drawn, bottom = _stack(x, 42.0, share, tiles, row)
        parts += drawn
        height = max(height, bottom)
    parts.append(
        text(10, height + 18, f"A tile is {TILE_ROWS} rows × {TILE_COLUMNS} numbers. {_fills(figures.share)}", QUIET)
    )
    parts += [box(10, height + 27, 12, 10, BLUE), text(27, height + 36, "rows of data")]
    parts += [_padding(110, height + 27, 12, 10), text(127, height + 36, "padding, computed for nothing")]
    parts.append(text(WIDTH - 10, height + 36, f"Numbers: {figures.origin}", f'text-anchor="end" {QUIET}'))
    words = f"A share of {figures.share_before} rows and one of {figures.share} rows, in tiles of {TILE_ROWS} rows."
    return picture(parts, WIDTH, height + 44, words)


def _fills(share: int) -> str:
    """Say how many of the rows that fill the matrix unit are missing in a share that pads nothing too."""
    missing = ROWS_PER_REPLICA - share
    said = f"{ROWS_PER_REPLICA} rows a replica fill the matrix unit"
    return f"{said}: {missing} of them are missing on the TPU." if missing > 0 else f"{said}."


def _stack(x: float, y: float, share: int, tiles: int, row: float) -> tuple[list[str], float]:
    """Draw a column of tiles, a very tall one cut."""
    shown = min(tiles, _MOST_TILES)
    parts = []
    for tile in range(shown):
        top = y + tile * (TILE_ROWS * row)
        have = max(0, min(TILE_ROWS, share - tile * TILE_ROWS))
        parts.append(box(x, top, _COLUMN, have * row, BLUE))
        if have < TILE_ROWS:
            parts.append(_padding(x, top + have * row, _COLUMN, (TILE_ROWS - have) * row))
        parts.append(outline(x, top, _COLUMN, TILE_ROWS * row))
    bottom = y + shown * TILE_ROWS * row
    if tiles > shown:
        parts.append(text(x, bottom + 12, f"and {tiles - shown:,} more tiles, all full", QUIET))
        bottom += 14
    return parts, bottom


def width_in_tiles(figures: Figures) -> str:
    """Draw layers of 128, 130 and 256 units, in tiles of 128 columns."""
    parts, scale = [], 1.5
    for index, width in enumerate((TILE_COLUMNS, TILE_COLUMNS + 2, 2 * TILE_COLUMNS)):
        y, whole = 24.0 + 52 * index, padded(width)
        waste = f"{1 - width / whole:.0%} padding" if whole > width else "no padding"
        parts.append(text(10, y - 6, f"{width} units: {whole} are computed, {waste}"))
        parts.append(box(10, y, width * scale, 20, BLUE))
        if whole > width:
            parts.append(_padding(10 + width * scale, y, (whole - width) * scale, 20))
        parts += [
            outline(10 + tile * TILE_COLUMNS * scale, y, TILE_COLUMNS * scale, 20)
            for tile in range(whole // TILE_COLUMNS)
        ]
    return picture(parts, 420, 164, "Layers of 128, 130 and 256 units in tiles of 128 columns.")


def _padding(x: float, y: float, wide: float, high: float) -> str:
    return box(x, y, wide, high, RED, 0.16, 'stroke-dasharray="3 2"')
