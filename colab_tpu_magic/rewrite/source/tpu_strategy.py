"""TPU strategies, cluster resolvers and the initialisation of the TPU: `%tpu_connect` has done that."""

from __future__ import annotations

import libcst as cst

from .base import LEGACY, Rewrite
from .keras_to_tpu_model import drop_imported

STRATEGIES = ("TPUDistributionStrategy", "TPUStrategy", "TPUStrategyV1", "TPUStrategyV2")
RESOLVERS = ("TPUClusterResolver",)
DROPPED = (
    "initialize_tpu_system",
    "shutdown_tpu_system",
    "experimental_connect_to_cluster",
    "experimental_connect_to_host",
)
_FAMILIES = ("tensorflow.",)


class TpuStrategy(Rewrite):
    """Make strategies those of the connected runtime, and drop what connects."""

    id = "tpu-strategy"
    title = "The runtime is connected already"
    why = (
        "%tpu_connect finds and initialises the TPU, and %%tpu_fit trains on every replica; on JAX there is no "
        "TensorFlow strategy. This one counts the replicas of the runtime, and its scope() is harmless."
    )
    source = "keras.io/guides/distribution; tensorflow.org/api_docs/python/tf/distribute/TPUStrategy"
    hints = (*STRATEGIES, *RESOLVERS, *DROPPED)

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        name = self._name(original.func)
        if name in STRATEGIES:
            return self._call(original, "strategy")
        if name in RESOLVERS:
            return self._call(original, "resolver")
        if name == "connect" and self._name(getattr(original.func, "value", original.func)) in RESOLVERS:
            return self._call(original, "resolver")
        if name in DROPPED:
            return self.replace(original, cst.Name("None"))
        return updated

    def leave_Expr(self, original: cst.Expr, updated: cst.Expr) -> cst.BaseSmallStatement:
        """Drop a statement that only connects."""
        if isinstance(original.value, cst.Call) and self._name(original.value.func) in DROPPED:
            self.rewrites = [row for row in self.rewrites if row.before != self.code(original.value)]
            return updated.with_changes(value=self.drop(original))
        return updated

    def leave_ImportFrom(self, original: cst.ImportFrom, updated: cst.ImportFrom) -> cst.BaseSmallStatement:
        """Take the names out of an import."""
        if original.module is None or not self.code(original.module).startswith("tensorflow"):
            return updated
        return drop_imported(self, original, updated, (*STRATEGIES, *RESOLVERS, *DROPPED))

    def _name(self, node: cst.CSTNode) -> str:
        """Return the last part of a name of TensorFlow's, or a bare name that is nowhere else imported from."""
        path = self.path(node)
        if path.startswith(_FAMILIES):
            return path.rpartition(".")[2]
        return node.value if isinstance(node, cst.Name) and node.value not in self.names else ""

    def _call(self, original: cst.CSTNode, name: str) -> cst.BaseExpression:
        new: cst.BaseExpression = self.replace(original, cst.Call(self.need(f"{LEGACY}.{name}")))
        return new


class StrategyRun(Rewrite):
    """``strategy.experimental_run_v2`` is called ``run`` today."""

    id = "strategy-run"
    title = "strategy.run"
    why = "strategy.experimental_run_v2 has been called run since TensorFlow 2.2."
    source = "tensorflow 2.2 release notes"
    hints = ("experimental_run_v2",)

    def leave_Attribute(self, original: cst.Attribute, updated: cst.Attribute) -> cst.BaseExpression:
        """Rewrite the name."""
        if original.attr.value != "experimental_run_v2":
            return updated
        return self.replace(original, updated.with_changes(attr=cst.Name("run")))
