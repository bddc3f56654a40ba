"""A plan as plain text: the verdict, the table of its rows, advice, layers and what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...planner.told import gain_text, host_text
from ..table import table_text
from .chosen import main_row, shares
from .facts import left_out, refusals, table_of, typed, where_it_flattens
from .words import bound_text, row_label, share_text

if TYPE_CHECKING:
    from ...planner.plan import Plan

BLOCKS = 24
"""Letters of the longest bar."""


def plan_text(plan: Plan) -> str:
    """Return a plan as lines of text."""
    from ...planner.plan import ESTIMATE

    lines = [plan.verdict or "No verdict yet.", ESTIMATE]
    lines += [] if plan.complete else plan.problems
    lines += [f"  {gain_text(one.gain)}  {one.text}{f'  [{one.typed}]' if one.typed else ''}" for one in plan.advice]
    if plan.rows:
        lines += ["", table_text(*table_of(plan))]
    lines += [f"{f'{name}: ' if name else ''}{reason}" for name, reason in refusals(plan)]
    row = main_row(plan)
    if row is not None and shares(row):
        lines += ["", f"Where a step's time goes, {row_label(row, with_precision=False)}:"]
        lines += _bars(row)
        lines += [said for said in (bound_text(row), where_it_flattens(plan)) if said]
    if plan.host is not None:
        lines += ["", host_text(plan.host)]
    lines += [f"  {sentence}" for sentence in left_out(plan)]
    line = typed(plan)
    return "\n".join([*lines, *([f"Type: {line}"] if line else [])])


def _bars(row: object) -> list[str]:
    bars = shares(row)  # type: ignore[arg-type]
    width = min(40, max(len(one.name) for one in bars))
    most = max(one.total for one in bars)
    return [
        f"  {one.name[-width:]:<{width}}  {share_text(one.total):>4}  {'█' * max(1, round(BLOCKS * one.total / most))}"
        for one in bars
    ]
