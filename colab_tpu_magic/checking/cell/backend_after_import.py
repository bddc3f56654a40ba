"""Trap ``backend-after-import`` in text: the backend of Keras is chosen when Keras is there already."""

from __future__ import annotations

import ast

from ...rewrite.finding import Finding
from .base import CellText, CellTrap, dotted, text_of

VARIABLE = "KERAS_BACKEND"


class BackendAfterImport(CellTrap):
    """Keras reads ``KERAS_BACKEND`` once, while it is imported. Set later, it changes nothing and says nothing.

    ``tf.keras`` counts as an import too. ``%tpu_connect`` sets the variable first and says when it is too late.
    """

    id = "backend-after-import"
    title = "Backend chosen too late"
    source = "keras#19423"

    def look(self, cell: CellText) -> list[Finding]:
        """Compare the line that sets the backend with the line that imports Keras, here or in an earlier cell."""
        chosen = [(node, value) for node in ast.walk(cell.tree) if (value := _chosen(node)) is not None]
        if not chosen:
            return []
        node, value = min(chosen, key=lambda one: getattr(one[0], "lineno", 0))
        loaded = cell.environment.keras_backend
        imported = [
            statement.lineno
            for statement, name in cell.imports()
            if name.partition(".")[0] == "keras" or name.startswith("tensorflow.keras")
        ]
        early = bool(imported) and min(imported) < getattr(node, "lineno", 0)
        if loaded == value or not (loaded or early):
            return []
        now = f"Keras is imported with the {loaded} backend" if loaded else "Keras is imported above"
        message = f"{VARIABLE} is set to {value}, and {now}, which it keeps until the kernel restarts."
        return [self.finding_at("warning", node, message, f"%tpu_connect --restart --backend {value}")]


def _chosen(node: ast.AST) -> str | None:
    """Return the backend that a statement chooses, or None."""
    if isinstance(node, ast.Assign):
        targets = [target for target in node.targets if isinstance(target, ast.Subscript)]
        if any(dotted(target.value) == "os.environ" and text_of(target.slice) == VARIABLE for target in targets):
            return text_of(node.value)
    if isinstance(node, ast.Call):
        name, arguments = dotted(node.func), [text_of(one) for one in node.args]
        if name in ("os.putenv", "os.environ.setdefault", "get_ipython.run_line_magic") and arguments[:1] == [VARIABLE]:
            return arguments[1] if len(arguments) > 1 else None
        if name.endswith(("config.set_backend", "set_backend")) and arguments:
            return arguments[0]
    return None
