"""The TPU compiler as another process: found or installed, started, limited, and asked once for each question."""

from ..results import Compiled, Cost, Memory, Refused, Unestimated, from_json
from .cache import Cache
from .client import Compiler
from .environment import CompilerEnvironment, CompilerError, find_environment

__all__ = [
    "Cache",
    "Compiled",
    "Compiler",
    "CompilerEnvironment",
    "CompilerError",
    "Cost",
    "Memory",
    "Refused",
    "Unestimated",
    "find_environment",
    "from_json",
]
