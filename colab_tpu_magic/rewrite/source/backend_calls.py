"""Calls of ``keras.backend`` that Keras 3 has not: ``K.mean`` is ``keras.ops.mean``, ``K.set_value`` an ``assign``."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from .base import Rewrite, in_brackets, keyword, new_argument, tidy
from .context import Context
from .names import dotted, node_of

_ONE = "abs exp log square sign sin cos tanh sigmoid softplus softsign relu round zeros_like ones_like transpose ndim shape"
_TWO = "maximum minimum equal not_equal greater greater_equal less less_equal reshape one_hot"
_REDUCTIONS = "sum mean max min prod std var any all"
# Old name to its arguments by position, the name in keras.ops, and what today's default would have otherwise.
SAME: dict[str, tuple[tuple[str, ...], str, str]] = {
    **{name: (("x",), name, "") for name in _ONE.split()},
    **{name: (("x", "y"), name, "") for name in _TWO.split()},
    **{name: (("x", "axis", "keepdims"), name, "") for name in _REDUCTIONS.split()},
    "argmax": (("x", "axis"), "argmax", "axis=-1"),
    "argmin": (("x", "axis"), "argmin", "axis=-1"),
    "cumsum": (("x", "axis"), "cumsum", "axis=0"),
    "cumprod": (("x", "axis"), "cumprod", "axis=0"),
    "concatenate": (("tensors", "axis"), "concatenate", "axis=-1"),
    "stack": (("x", "axis"), "stack", ""),
    "expand_dims": (("x", "axis"), "expand_dims", "axis=-1"),
    "squeeze": (("x", "axis"), "squeeze", ""),
    "softmax": (("x", "axis"), "softmax", ""),
    "cast": (("x", "dtype"), "cast", ""),
    "clip": (("x", "min_value", "max_value"), "clip", ""),
    "pow": (("x", "a"), "power", ""),
    "permute_dimensions": (("x", "pattern"), "transpose", ""),
    "gather": (("reference", "indices"), "take", "axis=0"),
    "flatten": (("x",), "ravel", ""),
    "get_value": (("x",), "convert_to_numpy", ""),
    "binary_crossentropy": (("target", "output", "from_logits"), "binary_crossentropy", ""),
    "categorical_crossentropy": (("target", "output", "from_logits", "axis"), "categorical_crossentropy", ""),
    "sparse_categorical_crossentropy": (
        ("target", "output", "from_logits", "axis"),
        "sparse_categorical_crossentropy",
        "",
    ),
}
_KEPT_NAMES = ("axis", "keepdims", "dtype", "from_logits", "x", "target", "output")
_OTHERS = ("sqrt", "set_value", "int_shape")
_CALLED = re.compile(rf"\b(?:K|backend)\.(?:{'|'.join((*SAME, *_OTHERS))})\(")


class BackendCalls(Rewrite):
    """Call ``keras.ops``, where it has the same under the same arguments."""

    id = "backend-calls"
    title = "keras.ops"
    why = (
        "keras.backend keeps settings only in Keras 3; this is in keras.ops, which computes on the backend that trains."
    )
    source = "keras.io/guides/migrating_to_keras_3; keras 3.15 sources of the old keras.backend, November 2026"
    hints = ()

    @classmethod
    def suspects(cls, text: str, context: Context) -> bool:
        """Return whether one of the calls may be in a text."""
        return "backend" in text or _CALLED.search(text) is not None

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        path = self.keras(original.func)
        name = path.removeprefix("backend.")
        if not path.startswith("backend.") or not isinstance(updated.func, cst.Attribute) or not updated.args:
            return updated
        if any(one.star for one in updated.args) or self.names.get("keras", "keras") not in (
            "keras",
            "tensorflow.keras",
        ):
            return updated
        value = updated.args[0].value
        if name == "set_value" and len(updated.args) == 2 and not any(map(keyword, updated.args)):
            call = cst.Call(cst.Attribute(in_brackets(_rate(value)), cst.Name("assign")), [updated.args[1]])
            return self.replace(original, call, _ASSIGN_WHY)
        if name == "int_shape" and len(updated.args) == 1:
            return self.replace(original, cst.Attribute(in_brackets(value), cst.Name("shape")), _SHAPE_WHY)
        if name == "sqrt" and len(updated.args) == 1:
            # The old one took the root of what is below zero as zero.
            inner = cst.Call(self._ops(original, "maximum"), [cst.Arg(value), cst.Arg(cst.Integer("0"))])
            new = cst.Call(
                self._ops(original, "sqrt"), tidy([cst.Arg(cst.Call(inner.func, tidy(inner.args, inner)))], inner)
            )
            return self.replace(original, new)
        if name not in SAME:
            return updated
        positions, today, default = SAME[name]
        arguments = self._arguments(updated.args, positions)
        if arguments is None or (
            name == "clip" and (len(arguments) < 3 or any(self.code(one.value) == "None" for one in arguments))
        ):
            return updated
        key, _, code = default.partition("=")
        if key and len(arguments) < 2 + (name == "gather"):
            arguments.append(new_argument(key, code))
        if name == "get_value":
            arguments[0] = arguments[0].with_changes(value=_rate(value))
        new = updated.with_changes(func=self._ops(original, today), args=tidy(arguments, updated))
        return self.replace(original, new)

    def _arguments(self, given: Sequence[cst.Arg], positions: tuple[str, ...]) -> list[cst.Arg] | None:
        """Return the arguments as keras.ops takes them, or None where it does not."""
        if len(given) > len(positions):
            return None
        for index, one in enumerate(given):
            if keyword(one) and (keyword(one) not in positions or keyword(one) not in _KEPT_NAMES):
                return None
            if not keyword(one) and index >= len(positions):
                return None
        return list(given)

    def _ops(self, call: cst.Call, name: str) -> cst.BaseExpression:
        """Return ``tf.keras.ops.mean`` for ``tf.keras.backend.mean``, and ``keras.ops.mean`` for ``K.mean``."""
        owner = dotted(call.func).rpartition(".")[0]
        if owner.endswith("keras.backend"):
            return node_of(f"{owner.removesuffix('backend')}ops.{name}")
        path = f"keras.ops.{name}"
        if self.names.get("keras") == "tensorflow.keras":
            return node_of(path)
        made: cst.BaseExpression = self.need(path, "import keras")
        return made


_ASSIGN_WHY = "keras.backend.set_value is gone with Keras 2; a variable is assigned to."
_SHAPE_WHY = "keras.backend.int_shape is gone with Keras 2; it is the tensor's shape."


def _rate(value: cst.BaseExpression) -> cst.BaseExpression:
    """Return ``opt.learning_rate`` for ``opt.lr``: of what has a value to get or set, only an optimizer has that."""
    if isinstance(value, cst.Attribute) and value.attr.value == "lr":
        return value.with_changes(attr=cst.Name("learning_rate"))
    return value
