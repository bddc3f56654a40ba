"""Python generators and iterators: one pass, of unknown length. Other iterables of batches: pass after pass."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from ...errors import DataError
from .base import Stream

NO_BATCHES = (list, tuple, dict, str, bytes, set, frozenset, range)


def read_generator(x: Any, shuffle: bool) -> Stream | None:
    """Return a generator's batches, or those of another iterator.

    Raises:
        DataError: When a thread of a fit before, one that was interrupted, still waits for the generator's next batch.
    """
    if isinstance(x, types.GeneratorType):
        if x.gi_running:
            raise DataError(
                "The generator still makes a batch for the fit that was interrupted.",
                expected="a generator that nobody else reads.",
                type_next="the call that makes it, once more; or run this cell again when that batch is done",
            )
        return Stream("generator", lambda: x, once=True)
    if isinstance(x, Iterator):
        return Stream("iterator", lambda: x, once=True)
    return None


def read_iterable(x: Any, shuffle: bool) -> Stream | None:
    """Return the batches of an object that has ``__iter__`` and is no array.

    A list or a dict is what it is for Keras: several inputs, not several batches.
    """
    if isinstance(x, NO_BATCHES) or not hasattr(type(x), "__iter__"):
        return None
    if any(hasattr(x, name) for name in ("__array__", "toarray", "to_numpy", "shape")):
        return None
    return Stream(type(x).__name__, lambda: iter(x), _length(x))


def _length(x: Any) -> int | None:
    try:
        return len(x) or None
    except TypeError:
        return None
