"""A change: one application of a rule to the user's training call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """Say what one rule changed and why.

    Attributes:
        rule: Id of the rule, for example ``"batch-size"``.
        title: A few words naming it.
        before: What the user had, for people.
        after: What trains instead, for people.
        why: The reason, at most two sentences.
        source: Where the reason comes from.
        switch: What to type to have it otherwise, for example ``"--batch-size keep"``.
    """

    rule: str
    title: str
    before: str
    after: str
    why: str
    source: str
    switch: str
