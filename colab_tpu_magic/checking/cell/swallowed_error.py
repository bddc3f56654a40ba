"""Trap ``swallowed-error``: an except clause that hides that there is no TPU."""

from __future__ import annotations

import ast

from ...rewrite.finding import Finding
from .base import CellText, CellTrap, dotted

SET_UP = (
    "TPUClusterResolver",
    "TPUStrategy",
    "initialize_tpu_system",
    "experimental_connect_to_cluster",
    "keras_to_tpu_model",
)
HIDING = ("ValueError", "Exception", "BaseException", "RuntimeError", "KeyError")


class SwallowedError(CellTrap):
    """The set-up block of many tutorials catches the error of a missing TPU and goes on, on the CPU.

    The training works and takes hours; nobody sees why. A notebook should say which device trains, and stop
    when it is not the one that was wanted.
    """

    id = "swallowed-error"
    title = "Hidden error of a missing TPU"
    source = "colabtools#5228"

    def look(self, cell: CellText) -> list[Finding]:
        """Look for a try around TPU set-up whose except clause raises nothing."""
        found = []
        for node in ast.walk(cell.tree):
            if not isinstance(node, ast.Try) or not _sets_up(node.body):
                continue
            for handler in node.handlers:
                if _hides(handler):
                    message = "the except clause hides that the TPU could not be used, and the cell goes on without it; %tpu_connect says what trains."
                    found.append(self.finding_at("warning", handler, message, "%tpu_connect"))
                    break
        return found


def _sets_up(body: list[ast.stmt]) -> bool:
    calls = (node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(
        dotted(call.func).rpartition(".")[2] in SET_UP
        or (dotted(call.func) == "jax.devices" and any(getattr(one, "value", None) == "tpu" for one in call.args))
        for call in calls
    )


def _hides(handler: ast.ExceptHandler) -> bool:
    if any(isinstance(node, ast.Raise) for statement in handler.body for node in ast.walk(statement)):
        return False
    caught = handler.type
    if caught is None:
        return True
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(dotted(kind).rpartition(".")[2] in HIDING for kind in kinds)
