"""What every look at a cell's text is: an id, a source, and a walk over the syntax tree. Nothing is executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ...hardware.environment import Environment
from ...rewrite.finding import Finder, Finding, Severity

FIRST_LINE = 2
"""Line of the notebook's cell on which the first line below the magic stands."""
NAMES_OF_PACKAGES = {"tensorflow": "tf", "numpy": "np"}


@dataclass(frozen=True)
class CellText:
    """A cell, parsed.

    Attributes:
        tree: Its syntax tree, with the line numbers that the notebook shows.
        environment: What is on this machine.
    """

    tree: ast.Module
    environment: Environment

    def calls(self) -> Iterator[tuple[ast.Call, str]]:
        """Yield every call with the dotted name of what is called."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield node, dotted(node.func)

    def names(self) -> Iterator[tuple[ast.expr, str]]:
        """Yield every dotted name once, the longest form of it: ``tf.contrib.tpu`` and not ``tf.contrib`` too."""
        inner: set[int] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute | ast.Name):
                if id(node) not in inner and (name := dotted(node)):
                    yield node, name
                if isinstance(node, ast.Attribute):
                    inner.add(id(node.value))

    def strings(self) -> Iterator[tuple[ast.Constant, str]]:
        """Yield every text constant, those in f-strings too; docstrings are left out."""
        told = {id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
                yield node, node.value

    def imports(self) -> Iterator[tuple[ast.stmt, str]]:
        """Yield every import with the full name of the module."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node, node.module

    def calls_any(self, *last_names: str) -> bool:
        """Return whether something whose last name is one of these is called."""
        return any(name.rpartition(".")[2] in last_names for _, name in self.calls())


def parse_cell(text: str, environment: Environment) -> CellText:
    """Return the text below a cell magic's line, parsed; magics and ``!`` commands in it are allowed.

    Raises:
        SyntaxError: As the cell alone would.
    """
    from IPython.core.inputtransformer2 import TransformerManager

    return CellText(ast.parse("\n" * (FIRST_LINE - 1) + TransformerManager().transform_cell(text)), environment)


def dotted(node: ast.expr) -> str:
    """Return ``tf.train.AdamOptimizer`` for such an expression, empty for anything that is no dotted name.

    The package's usual short name stands for its long one.
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        # A method of something that is made on the spot: its own name still tells.
        return ".".join(["", *reversed(parts)]) if parts else ""
    return ".".join([NAMES_OF_PACKAGES.get(node.id, node.id), *reversed(parts)])


def argument(call: ast.Call, name: str, place: int | None = None) -> ast.expr | None:
    """Return an argument of a call by its name, or by its place."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[place] if place is not None and place < len(call.args) else None


def text_of(node: ast.expr | None) -> str | None:
    """Return the text of a constant, None for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


class CellTrap(Finder):
    """One thing that the text of a cell shows."""

    def look(self, cell: CellText) -> list[Finding]:
        """Return what is found; an empty list when all is well."""
        raise NotImplementedError

    def finding_at(self, severity: Severity, node: ast.AST, message: str, type_next: str = "") -> Finding:
        """Return a finding of this trap, with its line."""
        return self.finding(severity, f"Line {getattr(node, 'lineno', 0)}: {message}", type_next)
