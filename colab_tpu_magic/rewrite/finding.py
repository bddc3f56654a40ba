"""A finding: something about a training that the user should know, and that no rule changes by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """Say what was found, how grave it is, and what to type.

    Attributes:
        trap: Id of what looked, for example ``"custom-train-step"``.
        severity: ``"error"`` when the training cannot work, ``"warning"`` when it works and
            gives something else than the user expects, ``"note"`` when it could be better.
        message: What was found and what follows from it, in sentences.
        type_next: The line to type, or "".
        source: Where the knowledge comes from, with a date where it is a fact about a runtime.
    """

    trap: str
    severity: Severity
    message: str
    type_next: str = ""
    source: str = ""

    @property
    def sentence(self) -> str:
        """The message with the line to type, as one text."""
        return f"{self.message} Type: {self.type_next}" if self.type_next else self.message


class Finder:
    """What every trap has, whatever it looks at; who inherits adds its `look`.

    Attributes:
        id: Its name in findings.
        title: A few words naming it.
        source: Where the knowledge comes from, with a date where it is a fact about a runtime.
    """

    id: str
    title: str
    source: str

    def finding(self, severity: Severity, message: str, type_next: str = "") -> Finding:
        """Return a finding of this trap."""
        return Finding(self.id, severity, message, type_next, self.source)
