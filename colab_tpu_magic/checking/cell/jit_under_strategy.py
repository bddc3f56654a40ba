"""Trap ``jit-under-strategy``: jit_compile=True in a cell that trains under TPUStrategy."""

from __future__ import annotations

import ast

from ...rewrite.finding import Finding
from .base import CellText, CellTrap, argument


class JitUnderStrategy(CellTrap):
    """TPUStrategy compiles the step for the TPU by itself; a second compilation inside it cannot work.

    It ends in "could not find registered transfer manager for platform Host". Keras 3 before 3.15 switched
    jit_compile on by itself there; the rule ``jit-compile`` switches it off.
    """

    id = "jit-under-strategy"
    title = "jit_compile under TPUStrategy"
    source = "keras#19448, colabtools#5124"

    def look(self, cell: CellText) -> list[Finding]:
        """Look for both in one cell."""
        if not cell.calls_any("TPUStrategy"):
            return []
        message = (
            "jit_compile=True under TPUStrategy ends in 'could not find registered transfer manager for platform Host'."
        )
        return [
            self.finding_at("error", call, message, "model.compile(..., jit_compile=False)")
            for call, name in cell.calls()
            if name.endswith("compile") and _is_true(argument(call, "jit_compile"))
        ]


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
