"""Arguments of ``compile``, ``ModelCheckpoint`` and ``ReduceLROnPlateau`` that Keras 3 calls otherwise, or has not."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite, as_keyword, is_given, keyword, tidy
from .context import Context
from .own_names import own_methods

_STEPS = "experimental_steps_per_execution"
_METRICS_WHY = "The third argument of compile is loss_weights in Keras 3; in tf.keras 1 and 2 it was metrics."


class CompileArguments(Rewrite):
    """Write ``steps_per_execution``, and ``metrics=`` where the metrics were given by position."""

    id = "compile-arguments"
    title = "Arguments of compile"
    why = "steps_per_execution lost its experimental_ in TensorFlow 2.4."
    source = "tensorflow 2.4 release notes; keras.io/api/models/model_training_apis"
    hints = (".compile(",)

    def __init__(self, module: cst.Module, context: Context) -> None:
        super().__init__(module, context)
        self.own = own_methods(module, self.names)

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        func = original.func
        if not isinstance(func, cst.Attribute) or func.attr.value != "compile" or self.path(func):
            return updated
        if self.own.is_own(func.value, "compile") or any(one.star for one in original.args):
            return updated
        arguments, why = list(updated.args), self.why
        for index, argument in enumerate(arguments):
            if keyword(argument) == _STEPS and is_given(original, "steps_per_execution"):
                self.twice(original, argument, "steps_per_execution")
            elif keyword(argument) == _STEPS:
                arguments[index] = as_keyword(argument, "steps_per_execution")
        positional = [one for one in arguments if not keyword(one)]
        if len(positional) in (3, 4) and self._are_metrics(original.args[2].value):
            why = _METRICS_WHY
            value = arguments[2].value
            if isinstance(value, cst.SimpleString):  # Keras 3 takes a list only
                value = cst.List([cst.Element(value)])
            arguments[2] = as_keyword(arguments[2].with_changes(value=value), "metrics")
            if len(positional) == 4:
                arguments[3] = as_keyword(arguments[3], "loss_weights")
        if all(new is old for new, old in zip(arguments, updated.args)):
            return updated
        return self.replace(original, updated.with_changes(args=tidy(arguments, updated)), why)

    def _are_metrics(self, value: cst.BaseExpression) -> bool:
        if isinstance(value, cst.List | cst.Tuple):
            return any(self._are_metrics(one.value) for one in value.elements)
        named = value.func if isinstance(value, cst.Call) else value
        return isinstance(value, cst.SimpleString) or self.keras(named).startswith("metrics.")


class CheckpointPeriods(Rewrite):
    """Drop ``period=`` of ``ModelCheckpoint``."""

    id = "checkpoint-period"
    title = "A checkpoint is saved after every epoch"
    why = "ModelCheckpoint has no period any more; it saves after every epoch, which is what period=1 said."
    source = "keras.io/api/callbacks/model_checkpoint"
    hints = ("period=", "period =")

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        name = getattr(original.func, "value", "")
        bare = name == "ModelCheckpoint" and name not in self.names
        if not bare and self.keras(original.func) != "callbacks.ModelCheckpoint":
            return updated
        period = next((one.value for one in original.args if keyword(one) == "period"), None)
        if period is None:
            return updated
        kept = [one for one in updated.args if keyword(one) != "period"]
        code = self.code(period)
        why = f"ModelCheckpoint has no period any more: it saves after every epoch now, not after every {code}. "
        why += f"save_freq= counts batches: {code} × steps per epoch saves as seldom."
        new = updated.with_changes(args=tidy(kept, updated))
        return self.replace(original, new, "" if code == "1" else why)


class PlateauDeltas(Rewrite):
    """Call ``epsilon=`` of ``ReduceLROnPlateau`` what it is called today."""

    id = "plateau-delta"
    title = "min_delta of ReduceLROnPlateau"
    why = "ReduceLROnPlateau calls it min_delta since Keras 2.1.6; epsilon is passed over in Keras 3 without a word."
    source = "keras.io/api/callbacks/reduce_lr_on_plateau; keras 3.15, November 2026"
    hints = ("ReduceLROnPlateau",)

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        name = getattr(original.func, "value", "")
        bare = name == "ReduceLROnPlateau" and name not in self.names
        if not bare and self.keras(original.func) != "callbacks.ReduceLROnPlateau":
            return updated
        arguments = list(updated.args)
        for index, one in enumerate(arguments):
            if keyword(one) == "epsilon" and is_given(original, "min_delta"):
                self.twice(original, one, "min_delta")
            elif keyword(one) == "epsilon":
                arguments[index] = as_keyword(one, "min_delta")
        return self.replace(original, updated.with_changes(args=arguments))
