"""What reading a form of data has changed, for the rule it belongs to to record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Done:
    """One thing that reading the data has changed.

    Attributes:
        rule: Id of the rule: ``"input-pipeline"`` or ``"static-shapes"``.
        before: What the user gave, for people.
        after: What trains instead, for people.
        why: The reason, at most two sentences.
        switch: What to type to have it otherwise; empty for the rule's own switch.
    """

    rule: str
    before: str
    after: str
    why: str
    switch: str = ""


def done_for(rule: str, data: object) -> Iterable[Done]:
    """Return what reading some data has changed that belongs to a rule; nothing for arrays."""
    return [done for done in getattr(data, "done", ()) if done.rule == rule]
