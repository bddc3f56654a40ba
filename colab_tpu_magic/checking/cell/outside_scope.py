"""Trap ``outside-scope``: a model, an optimizer or compile on the other side of ``with strategy.scope()``."""

from __future__ import annotations

import ast
import re

from ...rewrite.finding import Finding
from .base import CellText, CellTrap, dotted

MAKES = re.compile(r"(^|\.)(Sequential|Model|clone_model|load_model)$|(^|\.)(optimizers|applications)\.\w+$")


class OutsideScope(CellTrap):
    """Under a tf.distribute strategy, variables belong to it only if they are made inside its scope.

    A model made before the scope and compiled in it, or the other way round, ends in "Mixing different
    tf.distribute.Strategy objects", or trains one replica only. %%tpu_fit needs no scope: it moves the
    variables of the model, its optimizer and its metrics, wherever they were made.
    """

    id = "outside-scope"
    title = "Variables made outside the scope"
    source = "tensorflow#37054, tensorflow#55713"

    def look(self, cell: CellText) -> list[Finding]:
        """Look for parts of one model on both sides of a scope."""
        inside: set[int] = set()
        for node in ast.walk(cell.tree):
            if isinstance(node, ast.With | ast.AsyncWith) and any(_is_scope(item) for item in node.items):
                inside |= {id(part) for statement in node.body for part in ast.walk(statement)}
        if not inside:
            return []
        own = [(call, name) for call, name in cell.calls() if MAKES.search(name) or name.endswith(".compile")]
        out = [(call, name) for call, name in own if id(call) not in inside]
        if not out or len(out) == len(own):
            return []
        call, name = min(out, key=lambda one: one[0].lineno)
        message = f"{name.lstrip('.')}(…) stands outside strategy.scope(), and the rest of the model inside it. Below %%tpu_fit no scope is needed."
        return [self.finding_at("warning", call, message, "%%tpu_fit")]


def _is_scope(item: ast.withitem) -> bool:
    called = item.context_expr
    return isinstance(called, ast.Call) and dotted(called.func).endswith(".scope")
