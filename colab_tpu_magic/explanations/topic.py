"""What a topic is: a rule or a trap, explained."""

from __future__ import annotations

from dataclasses import dataclass

RULE, TRAP = "rule", "trap"


@dataclass(frozen=True)
class Topic:
    """One thing to explain.

    Attributes:
        id: What to type after ``%tpu_explain``.
        kind: ``"rule"`` or ``"trap"``.
        title: A few words naming it.
        paragraphs: The explanation.
        source: Where it comes from.
        switch: What to type to have a rule otherwise, empty for a trap.
    """

    id: str
    kind: str
    title: str
    paragraphs: tuple[str, ...]
    source: str
    switch: str = ""

    @property
    def summary(self) -> str:
        """The first sentence."""
        first = self.paragraphs[0] if self.paragraphs else self.title
        head, end, _ = first.partition(". ")
        return f"{head}." if end else first
