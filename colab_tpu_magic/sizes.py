"""Sizes of memory, for people."""

from __future__ import annotations

DIGITS = 3
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def bytes_text(count: float) -> str:
    """Write a size of memory with three digits.

    Example:
        >>> [bytes_text(size) for size in (0, 900, 117_833_728, 15.75 * 2**30)]
        ['0 bytes', '900 bytes', '112 MiB', '15.8 GiB']
    """
    power = 0
    while count >= 1000 and power < len(_UNITS) - 1:
        count, power = count / 1024, power + 1
    return f"{float(f'{count:.{DIGITS}g}'):,g} {_UNITS[power]}" if power else f"{count:,.0f} bytes"
