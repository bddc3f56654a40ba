"""Take ``BatchNormalization(synchronized=True)`` on JAX, where Keras refuses what it has no need of.

Public names of Keras only. Tried on keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras

_MARK = "_tpu_magic_was_synchronized"


def was_synchronized(layer: Any) -> bool:
    """Return whether a layer asked for synchronized statistics and was made without."""
    return bool(getattr(layer, _MARK, False))


@contextmanager
def taking_synchronized_layers() -> Iterator[None]:
    """Make synchronized layers as ordinary ones while entered; do nothing on other backends than JAX."""
    kind = keras.layers.BatchNormalization
    original = kind.__init__
    if keras.backend.backend() != "jax":
        yield
        return

    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        wanted = kwargs.pop("synchronized", False)
        original(self, *args, **kwargs)
        if wanted:
            setattr(self, _MARK, True)

    make.__doc__ = original.__doc__
    make.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]  # Keras reads it for get_config
    kind.__init__ = make
    try:
        yield
    finally:
        kind.__init__ = original
