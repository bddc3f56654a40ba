"""Of cells that raised or were refused, keep only what ran: a script must not do what failed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..training.run import Run
from .calls import fit_calls
from .cells import Cell


def without_failures(cells: list[Cell], runs: list[Run], raised: Mapping[int, int | None]) -> list[Cell]:
    """Return the cells, those that failed cut off before the statement that did.

    Args:
        cells: The cells before the one that is exported, in the order in which they ran.
        runs: All runs that are remembered, oldest first.
        raised: The line that raised, by the number of the cell; None where it is not known.
    """
    fitting = {
        node.name for cell in cells for node in cell.tree.body if isinstance(node, ast.FunctionDef) and fit_calls(node)
    }
    made: dict[int, list[Run]] = {}
    for run in runs:
        if run.recipe is not None:
            made.setdefault(run.recipe.execution, []).append(run)
    oldest = min(made, default=0) if runs and runs[0].number > 1 else 0  # of those before, the runs are forgotten
    found = []
    for cell in cells:
        own = made.get(cell.number, [])
        refused = cell.fits and not own and cell.number >= oldest and bool(_first_fit(cell, fitting))
        failed = any(run.status == "failed" for run in own)
        if refused or failed or cell.number in raised:
            cell = cut(cell, raised.get(cell.number), any(run.status != "failed" for run in own), fitting)
        found.append(cell)
    return found


def cut(cell: Cell, line: int | None, trained: bool, fitting: Iterable[str] = ()) -> Cell:
    """Return a cell without the statement that failed and those after it.

    Args:
        cell: The cell.
        line: The line that raised; None when it is not known.
        trained: Whether a fit of the cell ran, so that not every one of them is left out.
        fitting: Functions of the notebook that train.
    """
    stops = [line] if line is not None else []
    if cell.fits and not trained:
        stops += _first_fit(cell, fitting)
    if not stops:
        return cell
    shorter = replace(cell)
    shorter.tree.body[:] = [node for node in shorter.tree.body if (node.end_lineno or 0) < min(stops)]
    return shorter


def _first_fit(cell: Cell, fitting: Iterable[str]) -> list[int]:
    """Return the line of the first statement that trains, empty when none does."""
    for statement in cell.tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        names = {
            node.func.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        if fit_calls(statement) or names.intersection(fitting):
            return [statement.lineno]
    return []
