"""What every rule is: an id, the reason in two sentences, a source, a switch, and how to apply it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..change import Change
from ..prepared import PreparedFit

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions


class Rule:
    """One thing that TPU-ready form needs.

    Attributes:
        id: Name in ``--no ID``.
        title: A few words for the change table.
        why: The reason, at most two sentences.
        source: Where the reason comes from, with a date where it is a fact about hardware.
    """

    id: str
    title: str
    why: str
    source: str

    @property
    def switch(self) -> str:
        """What to type to have it otherwise."""
        return f"--no {self.id}"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Return the fit with the rule applied; the same fit when nothing needs changing."""
        raise NotImplementedError

    def skip(self, prepared: PreparedFit) -> PreparedFit:
        """Return the fit as it has to be when the rule is switched off."""
        return prepared

    def change(self, before: str, after: str, why: str = "", switch: str = "") -> Change:
        """Record one application of this rule."""
        return Change(self.id, self.title, before, after, why or self.why, self.source, switch or self.switch)
