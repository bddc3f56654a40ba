"""Calls that a distribution on JAX would stop: `evaluate`, `predict` and plain `fit` with any number of rows."""

from __future__ import annotations

import ast

from .calls import FitCall
from .cells import Cell
from .edits import Edit, Source, indented, statement_around
from .names import root_of

READING = ("evaluate", "predict")
OFF = "keras.distribution.set_distribution(None)  # any number of rows: each device computes all"
ON = "keras.distribution.set_distribution(data_parallel)"


def undistributed(cell: Cell, models: set[str], fits: list[ast.Call], more_follows: bool) -> list[Edit]:
    """Return the edits that take the distribution away around calls that plain Keras could not share out.

    Args:
        cell: The cell.
        models: Names of the models that are trained.
        fits: The calls of `fit` in the cell that train on the replicas.
        more_follows: Whether a later cell trains on the replicas.
    """
    source = Source(cell.text)
    edits: list[Edit] = []
    done: set[int] = set()
    last_fit = max((node.end_lineno or 0 for node in fits), default=0)
    off = False
    for node in sorted(_calls(cell.tree, models, fits), key=lambda one: one.lineno):
        statement = statement_around(cell.tree, node)
        if id(statement) in done or not source.begins_its_line(statement) or _holds(statement, fits):
            continue
        done.add(id(statement))
        for_good = not more_follows and statement in cell.tree.body and statement.lineno > last_fit
        if off:
            continue
        off = for_good
        indent = source.indent(statement.lineno)
        at, end = source.line_start(statement.lineno), source.span(statement)[1]
        edits.append(Edit(at, at, indented(OFF, indent) + "\n"))
        if not for_good:
            edits.append(Edit(end, end, "\n" + indented(ON, indent)))
    return edits


def reads(cell: Cell, models: set[str]) -> bool:
    """Return whether a cell evaluates one of some models, or predicts with it."""
    return any(
        isinstance(node.func, ast.Attribute) and node.func.attr in READING for node in _calls(cell.tree, models, [])
    )


def models_of(calls: list[FitCall], cells: list[Cell]) -> set[str]:
    """Return the names of the models that some calls train, also of those that are given to a function that trains."""
    names = {name for call in calls for name in root_of(call.node.func)}
    functions = {
        node.name
        for call in calls
        for node in call.cell.tree.body
        if isinstance(node, ast.FunctionDef) and _holds(node, [call.node])
    }
    for cell in cells:
        for node in ast.walk(cell.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
                names |= {name for given in node.args for name in root_of(given)}
                names |= {name for keyword in node.keywords for name in root_of(keyword.value)}
    return names


def _calls(tree: ast.Module, models: set[str], fits: list[ast.Call]) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and root_of(node.func.value) & models
        and (node.func.attr in READING or (node.func.attr == "fit" and not any(node is fit for fit in fits)))
    ]


def _holds(statement: ast.stmt, fits: list[ast.Call]) -> bool:
    return any(node is fit for node in ast.walk(statement) for fit in fits)
