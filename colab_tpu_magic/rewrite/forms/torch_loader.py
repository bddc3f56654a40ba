"""torch DataLoaders, when torch is imported."""

from __future__ import annotations

import sys
from typing import Any

from .base import Stream


def read_torch_loader(x: Any, shuffle: bool) -> Stream | None:
    """Return a DataLoader's batches."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(x, torch.utils.data.DataLoader):
        return None
    return Stream("torch DataLoader", lambda: iter(x), len(x) if hasattr(x, "__len__") else None)
