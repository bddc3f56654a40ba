"""Show a plan that is a cell's last value, unless the cell has shown it already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .static import plan_bundle
from .text import plan_text

if TYPE_CHECKING:
    from ...planner.plan import Plan

_last: list[tuple[Any, int]] = []


def mark_shown(plan: Plan, shell: Any) -> None:
    """Remember that the running cell has shown a plan, so that its value does not show it again.

    Args:
        plan: The plan.
        shell: The InteractiveShell that runs the cell.
    """
    _last[:] = [(plan, int(getattr(shell, "execution_count", 0)))]


def show_plan(plan: Plan) -> None:
    """Display a plan's card in a notebook, print its text elsewhere; nothing when this very cell has shown it."""
    from IPython import get_ipython
    from IPython.display import display

    shell = get_ipython()
    if shell is not None and any(
        shown is plan and count == getattr(shell, "execution_count", 0) for shown, count in _last
    ):
        return
    if getattr(shell, "kernel", None) is None:
        print(plan_text(plan))
    else:
        display(plan_bundle(plan), raw=True)
