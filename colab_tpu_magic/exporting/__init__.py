"""A run as a plain Keras script or notebook that needs nothing of this package."""

from __future__ import annotations

from .api import export

__all__ = ["export"]
