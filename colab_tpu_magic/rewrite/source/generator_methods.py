"""``fit_generator``, ``evaluate_generator``, ``predict_generator``, and other methods that Keras 3 has not."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite, as_keyword, by_name, is_given, keyword, tidy
from .context import Context
from .own_names import own_methods

_QUEUE = ("max_queue_size", "max_q_size", "workers", "use_multiprocessing", "pickle_safe", "nb_worker")
METHODS = {
    "fit_generator": (
        "fit",
        (
            "generator",
            "steps_per_epoch",
            "epochs",
            "verbose",
            "callbacks",
            "validation_data",
            "validation_steps",
            "validation_freq",
            "class_weight",
            "max_queue_size",
            "workers",
            "use_multiprocessing",
            "shuffle",
            "initial_epoch",
        ),
    ),
    "evaluate_generator": (
        "evaluate",
        ("generator", "steps", "callbacks", "max_queue_size", "workers", "use_multiprocessing", "verbose"),
    ),
    "predict_generator": (
        "predict",
        ("generator", "steps", "callbacks", "max_queue_size", "workers", "use_multiprocessing", "verbose"),
    ),
}
_NEW_NAMES = {"nb_epoch": "epochs", "nb_val_samples": "validation_steps", "val_samples": "steps"}


class GeneratorMethods(Rewrite):
    """Call the method that takes generators today."""

    id = "generator-methods"
    title = "fit takes generators"
    why = "fit, evaluate and predict take generators themselves; the methods with _generator are gone since TensorFlow 2.6."
    source = "tensorflow 2.1 and 2.6 release notes; keras 3.15 (fit has no workers), November 2026"
    hints = (*METHODS, *(f"{name}=" for name in _QUEUE), *(f"{name} =" for name in _QUEUE), "nb_epoch")

    def __init__(self, module: cst.Module, context: Context) -> None:
        super().__init__(module, context)
        self.own = own_methods(module, self.names)

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        func = updated.func
        if not isinstance(func, cst.Attribute):
            return updated
        name = func.attr.value
        if self.own.is_own(func.value, name):
            return updated
        if name in METHODS:
            return self._generator(original, updated, *METHODS[name])
        if name not in ("fit", "evaluate", "predict"):
            return updated
        arguments = [self._renamed(original, one) for one in updated.args if keyword(one) not in _QUEUE]
        if all(new is old for new, old in zip(arguments, updated.args)) and len(arguments) == len(updated.args):
            return updated
        why = "Keras 3 has no such argument: a PyDataset holds its own workers, and nb_epoch is called epochs."
        return self.replace(original, updated.with_changes(args=tidy(arguments, updated)), why)

    def _generator(
        self, original: cst.Call, updated: cst.Call, method: str, positions: tuple[str, ...]
    ) -> cst.BaseExpression:
        given = by_name(updated, positions)
        if given is None:
            return updated
        arguments = []
        for index, (name, argument) in enumerate(given.items()):
            if name in _QUEUE:
                continue
            if name == "generator":
                arguments.append(argument if not keyword(argument) else as_keyword(argument, "x"))
            else:
                argument = as_keyword(argument, name) if index else argument
                arguments.append(self._renamed(original, argument))
        assert isinstance(updated.func, cst.Attribute)
        func = updated.func.with_changes(attr=cst.Name(method))
        return self.replace(original, updated.with_changes(func=func, args=tidy(arguments, updated)))

    def _renamed(self, call: cst.Call, argument: cst.Arg) -> cst.Arg:
        new = _NEW_NAMES.get(keyword(argument), "")
        if new and is_given(call, new):
            self.twice(call, argument, new)
            return argument
        return as_keyword(argument, new) if new else argument


class Predictions(Rewrite):
    """``predict_classes`` and ``predict_proba`` are gone; ``predict`` gives what they gave."""

    id = "predict-classes"
    title = "predict gives probabilities"
    why = "predict_classes and predict_proba are gone since TensorFlow 2.6; predict gives a row of probabilities each."
    source = "tensorflow 2.6 release notes"
    hints = ("predict_classes", "predict_proba")

    def __init__(self, module: cst.Module, context: Context) -> None:
        super().__init__(module, context)
        self.own = own_methods(module, self.names)

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        func = updated.func
        if not isinstance(func, cst.Attribute) or func.attr.value not in ("predict_classes", "predict_proba"):
            return updated
        model = self.code(func.value).endswith("model") or self.own.is_model(func.value)
        if not model or self.own.is_own(func.value, func.attr.value):
            return updated  # scikit-learn's classifiers have a predict_proba of their own
        call = updated.with_changes(func=func.with_changes(attr=cst.Name("predict")))
        if func.attr.value == "predict_proba":
            return self.replace(original, call)
        argmax = cst.Call(cst.Attribute(call, cst.Name("argmax")), cst.parse_expression("f(axis=-1)").args)  # type: ignore[attr-defined]
        return self.replace(original, argmax)


class SyncToCpu(Rewrite):
    """``tpu_model.sync_to_cpu()`` is the model itself."""

    id = "sync-to-cpu"
    title = "The weights come home by themselves"
    why = "%%tpu_fit trains your own model object and brings its weights back when the cell ends."
    source = "keras_to_tpu_model of tensorflow 1.11 to 1.14; docs/architecture.md"
    hints = ("sync_to_cpu",)

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Put the model in the place of its copy on the CPU."""
        func = updated.func
        if isinstance(func, cst.Attribute) and func.attr.value == "sync_to_cpu":
            return self.replace(original, func.value)
        return updated

    def leave_Expr(self, original: cst.Expr, updated: cst.Expr) -> cst.BaseSmallStatement:
        """Drop a statement that only synchronises."""
        call = original.value
        if (
            isinstance(call, cst.Call)
            and isinstance(call.func, cst.Attribute)
            and call.func.attr.value == "sync_to_cpu"
        ):
            self.rewrites.pop()
            return updated.with_changes(value=self.drop(original))
        return updated
