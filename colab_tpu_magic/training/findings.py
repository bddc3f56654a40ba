"""Say in plain sentences what a run shows: starved of data, recompiling, not a number."""

from __future__ import annotations

from .run import Run


def findings(run: Run) -> list[str]:
    """Return what to tell the user of a run, the gravest first; empty when there is nothing.

    Args:
        run: A run that has ended, or as it stands.
    """
    return []
