"""Pictures of numbers as bits: 64 and 32 of them, float32 and bfloat16, bytes and floats on their way."""

from __future__ import annotations

from .drawing import BLUE, GREEN, ORANGE, QUIET, RED, arrow, box, middle, picture, text
from .figures import Figures

_CELL, _HIGH = 8.6, 18.0
# Bits of sign, exponent and fraction. Source: IEEE 754 and the bfloat16 page of cloud.google.com/tpu/docs.
FORMATS = {"float64": (1, 11, 52), "float32": (1, 8, 23), "bfloat16": (1, 8, 7), "float16": (1, 5, 10)}


def _format(parts: list[str], y: float, name: str, note: str, cell: float) -> None:
    parts.append(text(10, y + 13, name, 'font-weight="600"'))
    x = 80.0
    for bits, colour in zip(FORMATS[name], (RED, GREEN, BLUE)):
        parts += [box(x + cell * bit, y, cell, _HIGH, colour, 0.3) for bit in range(bits)]
        x += cell * bits
    parts.append(text(80, y + _HIGH + 14, note, QUIET))


def _legend(y: float) -> list[str]:
    entries = ((RED, "sign"), (GREEN, "exponent: the range"), (BLUE, "fraction: the digits"))
    parts, x = [], 80.0
    for colour, words in entries:
        parts += [box(x, y - 9, 12, 10, colour), text(x + 17, y, words)]
        x += 40 + 6 * len(words)
    return parts


def widths(figures: Figures) -> str:
    """Draw float64 and float32, and what travels."""
    parts: list[str] = []
    _format(parts, 8, "float64", "8 bytes: what NumPy makes", _CELL)
    _format(parts, 60, "float32", "4 bytes: what the device computes in, and half of the way", _CELL)
    return picture([*parts, *_legend(122)], 640, 130, "float64 has 64 bits, float32 has 32.")


def precisions(figures: Figures) -> str:
    """Draw float32, bfloat16 and float16."""
    parts: list[str] = []
    cell = 14.0
    _format(parts, 8, "float32", "range to 3 × 10³⁸, 7 digits", cell)
    _format(parts, 60, "bfloat16", "the same range, 2 to 3 digits, half the memory", cell)
    _format(parts, 112, "float16", "range to 65,504 only, 3 digits: needs loss scaling", cell)
    return picture(
        [*parts, *_legend(174)], 540, 182, "bfloat16 has the exponent bits of float32 and 7 bits of fraction."
    )


def travelling_bytes(figures: Figures) -> str:
    """Draw a picture's value on its way from host to device, as four bytes and as one."""
    parts = [middle(60, 16, "host", 'font-weight="600"'), middle(470, 16, "device", 'font-weight="600"')]
    for y, host, way, count, device in (
        (30.0, "x / 255", "float32: 4 bytes a value", 4, "x"),
        (88.0, "x", "uint8: 1 byte a value", 1, "x / 255"),
    ):
        parts += [box(15, y, 90, 30, ORANGE, 0.3), middle(60, y + 19, host)]
        parts += [box(425, y, 90, 30, BLUE, 0.3), middle(470, y + 19, device)]
        parts += [arrow(112, y + 24, 418, y + 24), middle(265, y + 38, way, QUIET)]
        start = 265 - count * 11
        parts += [box(start + 22 * index, y - 2, 18, 18, GREEN, 0.35) for index in range(count)]
    return picture(parts, 530, 136, "Four bytes a value travel when the host divides, one when the device does.")
