"""Batch sizes and steps that were counted for eight cores: they work, and the report says what they mean."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite, keyword


class BatchSizes(Rewrite):
    """Tell of sizes that hold a factor of eight; change nothing."""

    id = "eight-cores"
    title = "Counted for eight cores"
    why = (
        "The factor 8 stands for the cores of a v2-8; a Colab TPU has one core today. The code stays as it is: "
        "%%tpu_fit shows the global batch size and its share per replica, and changes it only as it says."
    )
    source = "colabtools#5566 (v5e-1 and v6e-1 took the place of v2-8); docs.cloud.google.com/tpu/docs/v5e"
    hints = ("8", "num_replicas_in_sync")

    def visit_Assign(self, node: cst.Assign) -> None:
        """Look at ``BATCH_SIZE = 128 * 8``."""
        names = [target.target.value for target in node.targets if isinstance(target.target, cst.Name)]
        if any(_is_size(name) for name in names) and _has_eight(node.value):
            self.note(node)

    def visit_Param(self, node: cst.Param) -> None:
        """Look at ``def input_fn(batch_size=128 * 8)``."""
        if _is_size(node.name.value) and node.default is not None and _has_eight(node.default):
            self.note(node)

    def visit_Arg(self, node: cst.Arg) -> None:
        """Look at ``fit(x, y, batch_size=128 * 8)``."""
        if _is_size(keyword(node)) and _has_eight(node.value):
            self.note(node)


def _is_size(name: str) -> bool:
    return "batch" in name.lower() or "steps" in name.lower()


def _has_eight(value: cst.BaseExpression) -> bool:
    found = _Eight()
    value.visit(found)
    return found.found


class _Eight(cst.CSTVisitor):
    """Find a product with, or a quotient by, the number eight."""

    found = False

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        multiplied = isinstance(node.operator, cst.Multiply)
        divided = isinstance(node.operator, cst.FloorDivide | cst.Divide)
        left, right = (isinstance(side, cst.Integer) and side.value == "8" for side in (node.left, node.right))
        self.found = self.found or (multiplied and (left or right)) or (divided and right)
