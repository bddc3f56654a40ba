"""``COLAB_TPU_ADDR``: the TPU is in the same machine today, and `%tpu_connect` has connected it."""

from __future__ import annotations

import libcst as cst

from .base import LEGACY, Rewrite
from .context import Context

VARIABLE = "COLAB_TPU_ADDR"


class TpuAddress(Rewrite):
    """Give the name of what trains where the address was read."""

    id = "tpu-address"
    title = "No address of a TPU"
    why = (
        "The TPU of a Colab runtime is in the same machine today and has no address; %tpu_connect connects it. "
        "The code gets the name of what trains, and a KeyError as before where that is no TPU."
    )
    source = "colabtools#5164 and #5566: v2-8 TPU nodes were retired, TPU VMs took their place (2025)"
    hints = (VARIABLE, "grpc://")

    def __init__(self, module: cst.Module, context: Context) -> None:
        super().__init__(module, context)
        self._targets: set[cst.CSTNode] = set()

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        """Remember what is assigned to."""
        self._targets.add(node.target)

    def visit_Del(self, node: cst.Del) -> None:
        """Remember what is deleted."""
        self._targets.add(node.target)

    def leave_Subscript(self, original: cst.Subscript, updated: cst.Subscript) -> cst.BaseExpression:
        """Rewrite ``os.environ['COLAB_TPU_ADDR']``."""
        index = original.slice[0].slice
        if (
            original in self._targets
            or self.path(original.value) != "os.environ"
            or not isinstance(index, cst.Index)
            or not _is_name(index.value)
        ):
            return updated
        return self._call(original, "address")

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite ``os.environ.get('COLAB_TPU_ADDR')``, ``os.getenv`` and ``'grpc://{}'.format(…)``."""
        if self.path(original.func) in ("os.environ.get", "os.getenv") and original.args:
            if _is_name(original.args[0].value):
                new = cst.parse_expression(f"{LEGACY}.address() if {LEGACY}.has_tpu() else None")
                self.need(f"{LEGACY}.address")
                return self.replace(original, new.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()]))
        func = updated.func
        if isinstance(func, cst.Attribute) and func.attr.value == "format" and len(updated.args) == 1:
            if isinstance(func.value, cst.SimpleString) and func.value.evaluated_value in ("grpc://{}", "grpc://{0}"):
                return self.replace(original, updated.args[0].value)
        return updated

    def leave_BinaryOperation(self, original: cst.BinaryOperation, updated: cst.BinaryOperation) -> cst.BaseExpression:
        """Rewrite ``'grpc://' + address`` and ``'grpc://%s' % address``."""
        left = updated.left
        if isinstance(left, cst.SimpleString) and (
            (isinstance(updated.operator, cst.Add) and left.evaluated_value == "grpc://")
            or (isinstance(updated.operator, cst.Modulo) and left.evaluated_value == "grpc://%s")
        ):
            return self.replace(original, updated.right)
        return updated

    def leave_FormattedString(self, original: cst.FormattedString, updated: cst.FormattedString) -> cst.BaseExpression:
        """Rewrite ``f'grpc://{address}'``."""
        if len(updated.parts) == 2 and getattr(updated.parts[0], "value", None) == "grpc://":
            value = updated.parts[1]
            if isinstance(value, cst.FormattedStringExpression) and value.conversion is None:
                return self.replace(original, value.expression)
        return updated

    def leave_Comparison(self, original: cst.Comparison, updated: cst.Comparison) -> cst.BaseExpression:
        """Rewrite ``'COLAB_TPU_ADDR' in os.environ``."""
        if not _is_name(original.left) or len(original.comparisons) != 1:
            return updated
        target = original.comparisons[0]
        if self.path(target.comparator) not in ("os.environ", "os.environ.keys"):
            return updated
        call = cst.Call(self.need(f"{LEGACY}.has_tpu"))
        if isinstance(target.operator, cst.In):
            return self.replace(original, call)
        return self.replace(original, cst.UnaryOperation(cst.Not(), call))

    def _call(self, original: cst.CSTNode, name: str) -> cst.BaseExpression:
        new: cst.BaseExpression = self.replace(original, cst.Call(self.need(f"{LEGACY}.{name}")))
        return new


def _is_name(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleString) and node.evaluated_value == VARIABLE
