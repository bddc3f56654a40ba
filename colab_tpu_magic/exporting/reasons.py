"""Write a change down as a comment."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from ..rewrite.change import Change

WIDTH = 88
CARRIED_OVER = (
    "scope", "jit-compile", "dtypes", "batch-size", "static-shapes", "learning-rate", "precision", "input-pipeline",
    "steps-per-execution", "dense-arrays", "loss-scaling",
)  # fmt: skip
# What changes no figure when it is left out.
SAME_FIGURES = ("normalise-on-device", "batch-normalization")


def reason(changes: Iterable[Change], rule: str) -> str:
    """Return the comment for a rule's change, empty when it changed nothing."""
    for change in changes:
        if change.rule == rule:
            return comment(f"{change.title}: {change.before} → {change.after}. {change.why}")
    return ""


def comment(text: str, width: int = WIDTH) -> str:
    """Return a text as comment lines.

    Example:
        >>> comment("Full batches.")
        '# Full batches.'
    """
    return "\n".join(f"# {line}" for line in textwrap.wrap(text, width - 2))


def not_carried_over(changes: Iterable[Change]) -> tuple[list[str], list[str]]:
    """Return a sentence for each change that a plain script does not make: all, and those that change figures."""
    left = [change for change in changes if change.rule not in CARRIED_OVER]
    told = [
        (change.rule, f"{change.title} ({change.before} → {change.after}) is not written out: {change.why}")
        for change in left
    ]
    return [text for _, text in told], [text for rule, text in told if rule not in SAME_FIGURES]
