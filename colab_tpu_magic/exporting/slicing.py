"""Keep of the notebook what a cell depends on: the statements that made its names, in their order."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch

from .cells import Cell
from .names import Names, bound_by, names_of, root_of, shared_by, used_at_definition
from .written_files import texts_of, written_by

KNOWN = {"get_ipython", "display", "__name__", "__file__"}
# What in the text of a statement draws first weights.
WEIGHTS = ("layers.", "Sequential(", "Dense(", "Model(", "models.", "applications.", "load_model(")
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Modules that draw in all they make, and those that do in a part of them.
DRAWS = ("keras", "tensorflow.keras", "random", "numpy.random.", "torch.nn")
PARTS = {
    "numpy": (".random.",),
    "numpy.random": (".",),
    "tensorflow": (".keras.", ".random."),
    "torch": (".nn.", ".rand"),
}
# Generators with a state of their own: what they draw, the global seeds do not decide.
OWN_STATE = ("RandomState", "default_rng", "Generator", "SeedSequence", "PCG64", "Philox", "MT19937", "Random")
OF_OWN_STATE = re.compile(rf"\b[\w.]*\brandom\.({'|'.join(OWN_STATE)})\b")


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
        unseeded: Whether a kept statement draws random numbers before any seed is set.
    """

    statements: tuple[Statement, ...]
    missing: tuple[str, ...]
    unseeded: bool = False

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
    statements = _with_shared(statements)
    backwards = Backwards(statements, last)
    kept, needed = backwards.until_it_stays()
    star = any(one.names.star for one in kept)
    made = {name for one in kept for name in one.names.makes}
    missing = () if star else tuple(sorted(needed - made - KNOWN))
    return Slice(tuple(kept), missing, backwards.unseeded(kept))


class Backwards:
    """Go through the statements from the last to the first, and keep what those kept already need.

    What changes an object counts only while that object is needed: it is remembered from one
    passage to the next which of the statements that made objects are kept. What draws random
    numbers between a seed and a needed draw is needed too.

    Args:
        statements: All statements, in the order in which they ran.
        last: The cell that is kept whole.
    """

    def __init__(self, statements: list[Statement], last: Cell) -> None:
        self.statements = statements
        self.last = last
        self.drawing = _drawing_names(statements)
        self.follows = _aliases(statements)
        self.bodies = {
            name: one.names.uses - used_at_definition(one.node)
            for one in statements
            if isinstance(one.node, DEFINITIONS)
            for name in one.names.makes
        }
        self.maker = _makers(statements)
        self.stretch = _stretches(statements)
        self.writes = [written_by(one.node) for one in statements]
        self.needed: set[int] = set()  # kept, and not only for the random numbers it draws

    def until_it_stays(self) -> tuple[list[Statement], set[str]]:
        """Return the statements that are kept, and the names needed before the first."""
        kept: set[int] = set()
        while True:
            known = len(self.needed)
            now, needed = self._once(kept)
            if now <= kept and len(self.needed) == known:
                return [self.statements[at] for at in sorted(kept)], needed
            kept |= now

    def _once(self, kept_before: set[int]) -> tuple[set[int], set[str]]:
        seeded = {self.stretch[at] for at in kept_before if self._draws(at)}
        needed: set[str] = set()
        of_result: set[str] = set()  # those of them that are not needed for random numbers alone
        kept: set[int] = set()
        read: set[str] = set()  # texts that may be names of files
        for at in range(len(self.statements) - 1, -1, -1):
            one = self.statements[at]
            names = one.names
            in_stretch = self.stretch[at] in seeded and (names.seeds or (bool(names.makes) and self._draws(at)))
            result = (
                one.cell is self.last
                or names.star
                or bool(names.makes & of_result)
                or any(self._matters(name, at, of_result, self.needed) for name in names.changes)
                or bool(self.writes[at])
                and any(fnmatch(file, one) for file in self.writes[at] for one in read)
            )
            # The fit of a model that is made only so that the random numbers come in their order is not needed.
            if not (
                result
                or at in kept_before
                or in_stretch
                or names.makes & needed
                or not _is_fit(one.node)
                and any(self._matters(name, at, needed, kept_before) for name in names.changes)
            ):
                continue
            uses = (
                used_at_definition(one.node)
                if isinstance(one.node, DEFINITIONS)
                else _with_bodies(names.uses, self.bodies)
            )
            if names.surely:
                needed -= names.makes
                of_result -= names.makes
            needed |= uses
            if result:
                self.needed.add(at)
                of_result |= uses
                read |= texts_of(one.node)
            kept.add(at)
        return kept, needed

    def unseeded(self, kept: list[Statement]) -> bool:
        """Return whether weights are drawn before the first seed."""
        at_all = {id(one) for one in kept}
        return any(
            self.stretch[at] == 0
            and id(one) in at_all
            and not one.names.seeds
            and self._draws(at)
            and not isinstance(one.node, ast.Import | ast.ImportFrom)
            and any(part in ast.unparse(one.node) for part in WEIGHTS)
            for at, one in enumerate(self.statements)
        )

    def _matters(self, name: str, at: int, needed: set[str], kept: set[int]) -> bool:
        """Return whether the object that a name stands for at a statement is needed."""
        if name in needed:
            return True
        if self.maker.get((name, at)) in kept:
            return True
        return any(root in needed or self.maker.get((root, at)) in kept for root in self.follows.get(name, ()))

    def _draws(self, at: int) -> bool:
        one = self.statements[at]
        if isinstance(one.node, DEFINITIONS) or not _calls(one.node):
            return False
        return _mentions(one, self.drawing)


def _mentions(one: Statement, drawing: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether a statement has the text of something that draws."""
    text = OF_OWN_STATE.sub("own_state", ast.unparse(one.node))
    return any(
        re.search(rf"\b{re.escape(name + rest)}" + ("" if rest else r"\b"), text)
        for name in one.names.uses & set(drawing)
        for rest in drawing[name]
    )


def _makers(statements: list[Statement]) -> dict[tuple[str, int], int]:
    """Return which statement made the object that a name stands for after each statement."""
    made: dict[tuple[str, int], int] = {}
    newest: dict[str, int] = {}
    for at, one in enumerate(statements):
        newest.update(dict.fromkeys(one.names.makes, at))
        for name in newest:
            made[name, at] = newest[name]
    return made


def _stretches(statements: list[Statement]) -> list[int]:
    """Return for each statement after how many seeds of everything it stands."""
    found: list[int] = []
    count = 0
    cell: Cell | None = None
    for one in statements:
        begins = one.cell is not cell and one.cell.seed is not None
        cell = one.cell
        count += begins or "set_random_seed" in ast.dump(one.node)
        found.append(count)
    return found


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


def _with_shared(statements: list[Statement]) -> list[Statement]:
    """Return statements that make what the functions that they call bind by ``global``."""
    shared: dict[str, set[str]] = {}
    found = []
    for one in statements:
        if isinstance(one.node, DEFINITIONS):
            shared.update(dict.fromkeys(one.names.makes, shared_by(one.node)))
        else:
            more = {name for used in one.names.uses for name in shared.get(used, ())}
            if more:
                names = replace(one.names, makes=one.names.makes | more, uses=one.names.uses | more, surely=False)
                one = replace(one, names=names)
        found.append(one)
    return found


def _functions(cells: list[Cell]) -> frozenset[str]:
    return frozenset(
        node.name for cell in cells for node in cell.tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )


def _drawing_names(statements: list[Statement]) -> dict[str, tuple[str, ...]]:
    """Return names that draw from a generator that a seed sets, and what has to stand behind them for it."""
    names: dict[str, tuple[str, ...]] = {}
    for one in statements:
        if isinstance(one.node, ast.Import | ast.ImportFrom):
            module = getattr(one.node, "module", None) or ""
            for alias in one.node.names:
                path = f"{module}.{alias.name}".strip(".")
                name = bound_by(alias)
                if path in PARTS:
                    names[name] = PARTS[path]
                elif alias.name in OWN_STATE:
                    continue
                elif path.startswith(DRAWS):
                    names[name] = ("",)
        elif isinstance(one.node, DEFINITIONS) and _mentions(one, names):
            names.update(dict.fromkeys(one.names.makes, ("",)))
    return names


def _aliases(statements: list[Statement]) -> dict[str, set[str]]:
    """Return names that stand for a part of another object: ``base = model.layers[0]``."""
    follows: dict[str, set[str]] = {}
    for one in statements:
        if isinstance(one.node, ast.Assign) and isinstance(one.node.value, ast.Name | ast.Attribute | ast.Subscript):
            for name in one.names.makes:
                follows.setdefault(name, set()).update(root_of(one.node.value))
    return follows


def _is_fit(node: ast.stmt) -> bool:
    value = getattr(node, "value", None)
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "fit"


def _calls(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Call) for one in ast.walk(node))
