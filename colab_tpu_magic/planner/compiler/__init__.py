"""The TPU compiler as another process: found or installed, started, limited, and asked once for each question."""

from .results import Compiled, Cost, Memory, Refused, Unestimated, from_json

__all__ = ["Compiled", "Cost", "Memory", "Refused", "Unestimated", "from_json"]
