"""grain's MapDataset, IterDataset and DataLoader, when grain is imported."""

from __future__ import annotations

import sys
from typing import Any

from .base import Stream


def read_grain(x: Any, shuffle: bool) -> Stream | None:
    """Return the batches of a grain dataset or loader; those of a repeated MapDataset have no end."""
    grain = sys.modules.get("grain")
    if grain is None or not isinstance(x, (grain.MapDataset, grain.IterDataset, grain.DataLoader)):
        return None
    form = f"grain {next(name for name in ('MapDataset', 'IterDataset', 'DataLoader') if _is(x, name))}"
    batches = len(x) if isinstance(x, grain.MapDataset) else None
    endless = batches is not None and batches >= sys.maxsize
    return Stream(form, lambda: iter(x), None if endless else batches, infinite=endless)


def _is(x: Any, name: str) -> bool:
    return any(parent.__name__ == name for parent in type(x).__mro__)
