"""``tf.train.*Optimizer`` and ``tf.compat.v1.train.*``: the Keras optimizer that computes the same."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from .base import Rewrite, as_keyword, by_name, keyword, new_argument, tidy
from .names import node_of

_DROPPED = ("use_locking", "global_step", "accum_name", "linear_name")


@dataclass(frozen=True)
class Optimizer:
    """How one optimizer of TensorFlow 1 is written in Keras.

    Attributes:
        name: Keras' name.
        arguments: Arguments of TensorFlow 1 in their order, each with Keras' name.
        defaults: Values that TensorFlow 1 has by default and Keras has not.
        remark: What differs all the same.
    """

    name: str
    arguments: tuple[tuple[str, str], ...]
    defaults: tuple[tuple[str, str], ...] = ()
    remark: str = ""


def _same(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in names)


_FTRL = (
    "learning_rate",
    "learning_rate_power",
    "initial_accumulator_value",
    "l1_regularization_strength",
    "l2_regularization_strength",
)
OPTIMIZERS = {
    "GradientDescentOptimizer": Optimizer("SGD", _same("learning_rate", "use_locking", "name")),
    "MomentumOptimizer": Optimizer(
        "SGD",
        (*_same("learning_rate", "momentum", "use_locking", "name"), ("use_nesterov", "nesterov")),
        remark="The learning rate is inside the momentum there: the same as long as it is constant.",
    ),
    "AdamOptimizer": Optimizer(
        "Adam",
        (
            ("learning_rate", "learning_rate"),
            ("beta1", "beta_1"),
            ("beta2", "beta_2"),
            *_same("epsilon", "use_locking", "name"),
        ),
        (("epsilon", "1e-08"),),
    ),
    "RMSPropOptimizer": Optimizer(
        "RMSprop",
        (
            ("learning_rate", "learning_rate"),
            ("decay", "rho"),
            *_same("momentum", "epsilon", "use_locking", "centered", "name"),
        ),
        (("epsilon", "1e-10"),),
        "Keras begins its running mean at zero and TensorFlow 1 at one: the first steps are larger.",
    ),
    "AdagradOptimizer": Optimizer(
        "Adagrad", _same("learning_rate", "initial_accumulator_value", "use_locking", "name")
    ),
    "AdadeltaOptimizer": Optimizer(
        "Adadelta", _same("learning_rate", "rho", "epsilon", "use_locking", "name"), (("epsilon", "1e-08"),)
    ),
    "FtrlOptimizer": Optimizer(
        "Ftrl",
        (
            *_same(*_FTRL, "use_locking", "name", "accum_name", "linear_name"),
            *_same("l2_shrinkage_regularization_strength"),
        ),
    ),
}
SCHEDULES = {
    "exponential_decay": (
        "ExponentialDecay",
        ("learning_rate", "global_step", "decay_steps", "decay_rate", "staircase", "name"),
    ),
    "inverse_time_decay": (
        "InverseTimeDecay",
        ("learning_rate", "global_step", "decay_steps", "decay_rate", "staircase", "name"),
    ),
    "polynomial_decay": (
        "PolynomialDecay",
        ("learning_rate", "global_step", "decay_steps", "end_learning_rate", "power", "cycle", "name"),
    ),
    "cosine_decay": ("CosineDecay", ("learning_rate", "global_step", "decay_steps", "alpha", "name")),
}
WRAPPERS = ("CrossShardOptimizer", "enable_mixed_precision_graph_rewrite")


class TrainOptimizers(Rewrite):
    """Put the Keras optimizer in the place of TensorFlow 1's, with the same values."""

    id = "tf-train-optimizers"
    title = "Keras optimizers"
    why = "The optimizers of tf.train are gone, or unknown to Keras 3. This one computes the same, with the same defaults."
    source = "keras.io/api/optimizers; tensorflow 1.15 sources of tf.train"
    hints = ("Optimizer", *SCHEDULES, *WRAPPERS)

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        path = self.path(original.func)
        place, _, name = path.rpartition(".")
        if not place.startswith("tensorflow"):
            return updated
        if name in WRAPPERS and updated.args:
            why = "The gradients of all replicas are summed by the runtime; the optimizer needs no wrapper."
            return self.replace(original, updated.args[0].value, why)
        if not place.endswith(".train"):
            return updated
        if name in OPTIMIZERS:
            return self._optimizer(original, updated, OPTIMIZERS[name])
        if name in SCHEDULES:
            return self._schedule(original, updated, *SCHEDULES[name])
        return updated

    def _optimizer(self, original: cst.Call, updated: cst.Call, keras: Optimizer) -> cst.BaseExpression:
        given = by_name(updated, [name for name, _ in keras.arguments])
        if given is None:
            return updated
        new_names = dict(keras.arguments)
        arguments = []
        for index, (name, argument) in enumerate(given.items()):
            if name in _DROPPED:
                continue
            first = index == 0 and not keyword(argument)
            arguments.append(argument if first else as_keyword(argument, new_names.get(name, name)))
        arguments += [new_argument(name, value) for name, value in keras.defaults if name not in given]
        func = self._keras(original.func, f"optimizers.{keras.name}")
        why = f"{self.why} {keras.remark}".rstrip()
        return self.replace(original, updated.with_changes(func=func, args=tidy(arguments, updated)), why)

    def _schedule(
        self, original: cst.Call, updated: cst.Call, name: str, positions: tuple[str, ...]
    ) -> cst.BaseExpression:
        given = by_name(updated, positions)
        if given is None:
            return updated
        arguments = []
        for index, (argument_name, argument) in enumerate(given.items()):
            if argument_name == "global_step":
                continue
            new_name = "initial_learning_rate" if argument_name == "learning_rate" else argument_name
            first = index == 0 and not keyword(argument)
            arguments.append(argument if first else as_keyword(argument, new_name))
        func = self._keras(original.func, f"optimizers.schedules.{name}")
        why = "A Keras optimizer takes a schedule and counts its own steps; there is no global step any more."
        return self.replace(original, updated.with_changes(func=func, args=tidy(arguments, updated)), why)

    def _keras(self, func: cst.BaseExpression, path: str) -> cst.BaseExpression:
        """Return Keras' name by way of the name that the text has for TensorFlow."""
        root = func
        while isinstance(root, cst.Attribute):
            root = root.value
        if isinstance(root, cst.Name) and self.names.get(root.value) == "tensorflow":
            return node_of(f"{root.value}.keras.{path}")
        expression: cst.BaseExpression = self.need(f"keras.{path}", "import keras")
        return expression
