"""The text of a cell with its edits made, without the imports and without what the run does not need."""

from __future__ import annotations

import ast
import re

from .cells import NOTHING_IN_A_SCRIPT, Cell
from .edits import Edit, Source, applied


def cell_text(cell: Cell, kept: list[ast.stmt], whole: bool, edits: list[Edit], ours: set[str]) -> str:
    """Return what is left of a cell.

    Args:
        cell: The cell.
        kept: The statements that are kept.
        whole: Whether comments between them stay too.
        edits: Changes to make in them.
        ours: Names under which the notebook knows this package.
    """
    whole = whole and len(ast.parse(cell.text).body) == len(cell.tree.body)  # not where it was cut
    source = Source(cell.text)
    edited = [edit.start for edit in edits]
    gone: list[ast.stmt] = []
    for statement in cell.tree.body:
        start, stop = source.span(statement)
        of_ours = _mentions(statement, ours) and not any(start <= at < stop for at in edited)
        if statement not in kept or isinstance(statement, ast.Import | ast.ImportFrom) or of_ours:
            gone.append(statement)
    stays = {
        line
        for statement in cell.tree.body
        if statement not in gone
        for line in range(first_line(statement), (statement.end_lineno or 0) + 1)
    }
    dropped: set[int] = set()
    for statement in gone:
        lines = set(range(first_line(statement), (statement.end_lineno or 0) + 1))
        if not lines & stays:
            dropped |= lines
            if not whole:
                dropped |= _comments_above(source, min(lines), stays)
    if not whole:
        wanted = set(stays)
        for statement in cell.tree.body:
            if statement not in gone:
                wanted |= _comments_above(source, first_line(statement), stays)
        dropped |= {
            number for number, line in enumerate(source.lines, 1) if line.strip() and number not in wanted
        } - stays
    removals = [Edit(source.line_start(line), source.line_start(line + 1), "") for line in dropped]
    text = applied(cell.text + "\n", [*edits, *removals])
    return re.sub(r"\n{4,}", "\n\n\n", text).strip("\n")


def imports_of(cell: Cell, kept: list[ast.stmt]) -> list[ast.Import | ast.ImportFrom]:
    """Return the kept imports at the top level of a cell."""
    return [node for node in cell.tree.body if isinstance(node, ast.Import | ast.ImportFrom) and node in kept]


def first_line(statement: ast.stmt) -> int:
    """Return the first line of a statement, that of its first decorator where it has one."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _comments_above(source: Source, line: int, stays: set[int]) -> set[int]:
    found = set()
    line -= 1
    while line >= 1 and line not in stays and source.lines[line - 1].lstrip().startswith("#"):
        if NOTHING_IN_A_SCRIPT not in source.lines[line - 1]:
            found.add(line)
        line -= 1
    return found


def _mentions(statement: ast.stmt, names: set[str]) -> bool:
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement))
