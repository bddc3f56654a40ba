"""Python generators: one pass, of unknown length."""

from __future__ import annotations

import types
from typing import Any

from .base import Stream


def read_generator(x: Any, shuffle: bool) -> Stream | None:
    """Return a generator's batches."""
    return Stream("generator", lambda: x, once=True) if isinstance(x, types.GeneratorType) else None
