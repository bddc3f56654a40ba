"""Keep of the notebook what a cell depends on: the statements that made its names, in their order."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .cells import Cell
from .names import Names, bound_by, names_of, root_of, used_at_definition

KNOWN = {"get_ipython", "display", "__name__", "__file__"}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
DRAWS = ("keras", "tensorflow", "random", "numpy.random", "torch")


@dataclass(frozen=True)
class Statement:
    """A top-level statement of a cell."""

    cell: Cell
    node: ast.stmt
    names: Names


@dataclass(frozen=True)
class Slice:
    """What is kept.

    Attributes:
        statements: The statements, in the order in which they ran.
        missing: Names that no cell makes, without those of Python.
    """

    statements: tuple[Statement, ...]
    missing: tuple[str, ...]

    def of(self, cell: Cell) -> list[ast.stmt]:
        """Return the statements of one cell that are kept."""
        return [one.node for one in self.statements if one.cell is cell]


def sliced(cells: list[Cell], last: Cell) -> Slice:
    """Return what the last cell needs of those before it.

    Args:
        cells: Cells in the order in which they ran; the last one is among them or after them.
        last: The cell that is kept whole.
    """
    before = [cell for cell in cells if cell.number < last.number]
    functions, imported = _functions([*before, last]), _imported([*before, last])
    statements = [
        Statement(cell, node, names_of(node, functions, imported))
        for cell in (*before, last)
        for node in cell.tree.body
    ]
    ever: set[str] = set()
    while True:
        kept, needed = _pass(statements, last, ever)
        now = ever.union(*(one.names.uses for one in kept)) - imported
        if now == ever:
            break
        ever = now
    star = any(one.names.star for one in kept)
    made = {name for one in kept for name in one.names.makes}
    missing = () if star else tuple(sorted(needed - made - KNOWN))
    return Slice(tuple(kept), missing)


def _pass(statements: list[Statement], last: Cell, ever: set[str]) -> tuple[list[Statement], set[str]]:
    """Go backwards once; return the statements that are kept, and the names needed before the first.

    Args:
        statements: All statements.
        last: The cell that is kept whole.
        ever: Names that are needed somewhere: what changes their objects matters, wherever it stands.
    """
    modules, follows = _drawing_names(statements), _aliases(statements)
    bodies = {
        name: one.names.uses - used_at_definition(one.node)
        for one in statements
        if isinstance(one.node, DEFINITIONS)
        for name in one.names.makes
    }
    first_seed = next(
        (at for at, one in enumerate(statements) if one.names.seeds and one.cell is not last), len(statements)
    )
    needed: set[str] = set()
    kept: list[Statement] = []
    for at in range(len(statements) - 1, -1, -1):
        one = statements[at]
        names = one.names
        about = needed | ever
        about |= {alias for alias, roots in follows.items() if roots & about}
        draws = at > first_seed and bool(names.makes) and bool(names.uses & modules) and _calls(one.node)
        if not (
            one.cell is last or names.makes & needed or names.changes & about or names.seeds or draws or names.star
        ):
            continue
        if names.surely:
            needed -= names.makes
        if isinstance(one.node, DEFINITIONS):
            needed |= used_at_definition(one.node)
        else:
            needed |= _with_bodies(names.uses, bodies)
        kept.append(one)
    return kept[::-1], needed


def _with_bodies(uses: frozenset[str], bodies: dict[str, frozenset[str]]) -> set[str]:
    """Return names, and those that the functions among them read when they are called."""
    found: set[str] = set()
    waiting = set(uses)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting |= bodies.get(name, frozenset())
    return found


def _imported(cells: list[Cell]) -> frozenset[str]:
    return frozenset(
        bound_by(alias)
        for cell in cells
        for node in cell.tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )


def _functions(cells: list[Cell]) -> frozenset[str]:
    return frozenset(
        node.name for cell in cells for node in cell.tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )


def _drawing_names(statements: list[Statement]) -> set[str]:
    """Return names under which the notebook knows modules that draw random numbers, and what it built on them."""
    names = set()
    for one in statements:
        if isinstance(one.node, ast.Import | ast.ImportFrom):
            module = getattr(one.node, "module", None) or ""
            for alias in one.node.names:
                path = f"{module}.{alias.name}".strip(".")
                if path.startswith(DRAWS) or path == "numpy":
                    names.add(alias.asname or alias.name.split(".")[0])
        elif isinstance(one.node, ast.FunctionDef | ast.ClassDef) and one.names.uses & names:
            names |= one.names.makes
    return names


def _aliases(statements: list[Statement]) -> dict[str, set[str]]:
    """Return names that stand for a part of another object: ``base = model.layers[0]``."""
    follows: dict[str, set[str]] = {}
    for one in statements:
        if isinstance(one.node, ast.Assign) and isinstance(one.node.value, ast.Name | ast.Attribute | ast.Subscript):
            for name in one.names.makes:
                follows.setdefault(name, set()).update(root_of(one.node.value))
    return follows


def _calls(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Call) for one in ast.walk(node))
