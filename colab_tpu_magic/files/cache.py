"""Keep decoded images in memory, where all of them fit into a stated share of what is free."""

from __future__ import annotations

from weakref import WeakSet

import numpy as np

from ..sizes import bytes_text
from .memory import available_bytes

SHARE = 0.25
_caches: WeakSet[DecodedCache] = WeakSet()


class DecodedCache:
    """One array with a place for every image, filled as they are decoded.

    Args:
        rows: Images.
        shape: ``(height, width, channels)``.
    """

    def __init__(self, rows: int, shape: tuple[int, int, int]) -> None:
        # Memory that is not written to yet is only promised: it is taken page by page as images come.
        self._pixels = np.empty((rows, *shape), np.uint8)
        self._there = np.zeros(rows, bool)
        _caches.add(self)

    @property
    def bytes(self) -> int:
        """Bytes it has when it is full."""
        return self._pixels.nbytes

    @property
    def filled_bytes(self) -> int:
        """Bytes of the images that are in it."""
        return int(self._there.mean() * self._pixels.nbytes) if len(self._there) else 0

    def has(self, rows: np.ndarray) -> bool:
        """Return whether all of some images are there."""
        return bool(self._there[rows].all())

    def put(self, rows: np.ndarray, pixels: np.ndarray) -> None:
        """Keep decoded images, ``(len(rows), height, width, channels)`` uint8."""
        self._pixels[rows] = pixels
        self._there[rows] = True

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return some images, gathered in one copy."""
        return self._pixels.take(rows, axis=0)


def cache_for(rows: int, shape: tuple[int, int, int], share: float = SHARE) -> tuple[DecodedCache | None, str]:
    """Return a cache if all images fit into a share of the free memory, and a sentence part that says so.

    What other caches of this process hold or will come to hold counts with it, so that several
    folders together stay within the share.

    Args:
        rows: Images.
        shape: ``(height, width, channels)``.
        share: Of the memory that would be free without our caches, from 0 to 1.
    """
    needed = rows * int(np.prod(shape))
    free = available_bytes()
    if free is None:
        return None, "not cached: this system does not tell how much memory is free"
    held, promised = sum(one.filled_bytes for one in _caches), sum(one.bytes for one in _caches)
    room = share * (free + held)
    percent = 100 * needed / max(1, free + held)
    part = f"{percent:.2g} %" if percent >= 0.01 else "less than 0.01 %"
    of = f"{bytes_text(needed)} decoded, {part} of the {bytes_text(free + held)} free"
    if needed + promised > room:
        beside = f" beside {bytes_text(promised)} of other folders" if promised else ""
        return None, f"not cached: {of}{beside}, and at most {100 * share:g} % is taken"
    return DecodedCache(rows, shape), f"cached as they are decoded: {of}"
