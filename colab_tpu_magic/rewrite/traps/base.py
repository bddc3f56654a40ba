"""What every trap is: an id, a source, and a look at a prepared fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding import Finder, Finding
from ..prepared import PreparedFit

if TYPE_CHECKING:
    from ...backends.base import Runtime


class Trap(Finder):
    """One thing that goes wrong in silence, or late, unless somebody says it."""

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Return what is found; an empty list when all is well. Nothing is changed, no device is touched."""
        raise NotImplementedError
