"""What every trap is: an id, a source, and a look at a prepared fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding import Finding, Severity
from ..prepared import PreparedFit

if TYPE_CHECKING:
    from ...backends.base import Runtime


class Trap:
    """One thing that goes wrong in silence, or late, unless somebody says it.

    Attributes:
        id: Its name in findings.
        title: A few words naming it.
        source: Where the knowledge comes from, with a date where it is a fact about a runtime.
    """

    id: str
    title: str
    source: str

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Return what is found; an empty list when all is well. Nothing is changed, no device is touched."""
        raise NotImplementedError

    def finding(self, severity: Severity, message: str, type_next: str = "") -> Finding:
        """Return a finding of this trap."""
        return Finding(self.id, severity, message, type_next, self.source)
