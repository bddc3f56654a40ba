"""``keras_to_tpu_model(model, strategy=…)`` and ``multi_gpu_model(model, n)`` are the model itself."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite, first_argument, in_brackets, keyword, tidy


class KerasToTpuModel(Rewrite):
    """Put the model in the place of its conversion."""

    id = "keras-to-tpu-model"
    title = "The model is trained itself"
    why = "A Keras model needs no conversion any more: %%tpu_fit moves its variables onto the replicas and back."
    source = "tensorflow 2.0 release notes: tf.contrib is gone; the 2018 article on Keras and Colab's TPU"
    hints = ("keras_to_tpu_model", "multi_gpu_model", "distribute=", "distribute =")

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        name = self.path(original.func).rpartition(".")[2] or getattr(original.func, "value", "")
        if name in ("keras_to_tpu_model", "multi_gpu_model"):
            model = first_argument(updated, "model", "keras_model", "cpu_model")
            if model is not None:
                return self.replace(original, in_brackets(model))
        if isinstance(original.func, cst.Attribute) and original.func.attr.value == "compile":
            kept = [one for one in updated.args if keyword(one) != "distribute"]
            if len(kept) < len(updated.args):
                return self.replace(original, updated.with_changes(args=tidy(kept, updated)))
        return updated

    def leave_ImportFrom(self, original: cst.ImportFrom, updated: cst.ImportFrom) -> cst.BaseSmallStatement:
        """Take the name out of an import."""
        return drop_imported(self, original, updated, ("keras_to_tpu_model", "multi_gpu_model"))


def drop_imported(
    rewrite: Rewrite, original: cst.ImportFrom, updated: cst.ImportFrom, gone: tuple[str, ...]
) -> cst.BaseSmallStatement:
    """Take names out of a ``from … import``; drop it when none is left."""
    if isinstance(updated.names, cst.ImportStar):
        return updated
    kept = [alias for alias in updated.names if alias.evaluated_name.rpartition(".")[2] not in gone]
    if len(kept) == len(updated.names):
        return updated
    if not kept:
        return cst.Expr(rewrite.drop(original))
    kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    new: cst.BaseSmallStatement = rewrite.replace(original, updated.with_changes(names=kept))
    return new
