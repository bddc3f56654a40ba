"""``lr=`` and ``decay=`` of Keras 2 optimizers, ``optimizer.lr``, and ``optimizers.legacy``."""

from __future__ import annotations

import re

import libcst as cst

from .base import Rewrite, is_given, keyword, new_argument, tidy
from .context import RATE_CALLBACKS, Context
from .names import node_of

# tf.keras' own default rates, for a decay without a rate.
RATES = {
    "SGD": "0.01",
    "RMSprop": "0.001",
    "Adam": "0.001",
    "Adamax": "0.001",
    "Nadam": "0.001",
    "Adagrad": "0.001",
    "Adadelta": "0.001",
    "Ftrl": "0.001",
}
_DECAY_WHY = (
    "Keras 3 takes decay= and does nothing with it. The schedule gives the same rate: "
    "the first one divided by 1 + decay × steps."
)
_SET_WHY = (
    "The learning rate is set while it trains, by a callback or by an assignment, and Keras 3 cannot set a rate that "
    "is a schedule. So decay, which Keras 3 ignores, is left out: the rate is what is set."
)
_SETS = re.compile(
    rf"{'|'.join(RATE_CALLBACKS)}|optimizer\.(?:lr|learning_rate)(?:\.assign\b|\s*[-+*/]?=(?!=))"
    r"|\bset_value\([^\n]*\b(?:lr|learning_rate)\b"
)


def sets_rate(text: str) -> bool:
    """Return whether a text sets an optimizer's rate, or has a callback that does."""
    return _SETS.search(text) is not None


class OptimizerArguments(Rewrite):
    """Write ``learning_rate`` for ``lr``, and a schedule for ``decay``."""

    id = "optimizer-arguments"
    title = "learning_rate and schedules"
    why = "Keras 3 optimizers know learning_rate only; lr= is an error."
    source = "keras.io/api/optimizers; keras 3.15 (decay is ignored with a warning), November 2026"
    hints = ("lr=", "lr =", "decay=", "decay =", ".lr", "optimizers.legacy", "schedule_decay")

    def __init__(self, module: cst.Module, context: Context) -> None:
        super().__init__(module, context)
        self.rate_is_set = context.sets_rate or sets_rate(module.code)

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite the arguments of one optimizer."""
        name = self._optimizer(original.func)
        if not name:
            return updated
        arguments, why = [], self.why
        rate = next((one for one in updated.args if keyword(one) in ("", "lr", "learning_rate") and not one.star), None)
        decay = next((one for one in updated.args if keyword(one) == "decay"), None)
        decays = decay is not None and not _is_zero(decay.value)
        schedule = decay if decays and not self.rate_is_set else None
        for argument in updated.args:
            if argument is rate and schedule is not None:
                arguments.append(new_argument("learning_rate", self._schedule(original, rate.value, schedule.value)))
            elif keyword(argument) == "lr" and is_given(original, "learning_rate"):
                self.twice(original, argument, "learning_rate")
                arguments.append(argument)
            elif keyword(argument) == "lr":
                arguments.append(argument.with_changes(keyword=cst.Name("learning_rate")))
            elif keyword(argument) not in ("decay", "schedule_decay"):
                arguments.append(argument)
        if rate is None and schedule is not None:
            default = cst.parse_expression(RATES[name])
            arguments.insert(0, new_argument("learning_rate", self._schedule(original, default, schedule.value)))
        if decays:
            why = _DECAY_WHY if schedule is not None else _SET_WHY
        new = updated.with_changes(args=tidy(arguments, updated))
        if self.code(new) == self.code(updated):
            return updated
        return self.replace(original, new, why)

    def leave_Attribute(self, original: cst.Attribute, updated: cst.Attribute) -> cst.BaseExpression:
        """Rewrite ``model.optimizer.lr`` and ``keras.optimizers.legacy``."""
        owner = updated.value
        if original.attr.value == "lr" and isinstance(owner, cst.Attribute) and owner.attr.value == "optimizer":
            return self.replace(original, updated.with_changes(attr=cst.Name("learning_rate")))
        if self.keras(original.value) == "optimizers.legacy":
            assert isinstance(owner, cst.Attribute)
            why = "keras.optimizers.legacy is gone with Keras 2."
            return self.replace(original, updated.with_changes(value=owner.value), why)
        return updated

    def leave_ImportFrom(self, original: cst.ImportFrom, updated: cst.ImportFrom) -> cst.BaseSmallStatement:
        """Rewrite ``from keras.optimizers.legacy import Adam``."""
        module = original.module
        if module is None or not self.code(module).endswith("keras.optimizers.legacy"):
            return updated
        new = updated.with_changes(module=node_of(self.code(module).removesuffix(".legacy")))
        dropped: cst.BaseSmallStatement = self.replace(original, new, "keras.optimizers.legacy is gone with Keras 2.")
        return dropped

    def _optimizer(self, func: cst.BaseExpression) -> str:
        """Return the name of a Keras optimizer, also where its import is in another cell."""
        path = self.keras(func)
        name = path.rpartition(".")[2]
        if path.startswith("optimizers.") and name in RATES:
            return name
        bare = isinstance(func, cst.Name) and func.value not in self.names and func.value in RATES
        return self.code(func) if bare else ""

    def _schedule(self, call: cst.Call, rate: cst.BaseExpression, decay: cst.BaseExpression) -> str:
        func = call.func
        if isinstance(func, cst.Attribute):
            owner = self.code(func.value).removesuffix(".legacy")
        else:
            owner = "keras.optimizers"
            self.need("keras.optimizers", "import keras")
        what = f"{owner}.schedules.InverseTimeDecay"
        return f"{what}({self.code(rate)}, decay_steps=1, decay_rate={self.code(decay)})"


def _is_zero(value: cst.BaseExpression) -> bool:
    code = getattr(value, "value", None)
    if not isinstance(value, cst.Integer | cst.Float) or not isinstance(code, str):
        return False
    return float(code) == 0
