"""``tf.to_int32(x)`` and its like are ``tf.cast(x, tf.int32)``."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite, as_keyword, by_name, tidy

TYPES = {
    "to_float": "float32",
    "to_double": "float64",
    "to_int32": "int32",
    "to_int64": "int64",
    "to_bfloat16": "bfloat16",
    "to_complex64": "complex64",
    "to_complex128": "complex128",
}


class Casts(Rewrite):
    """Write ``tf.cast``."""

    id = "casts"
    title = "tf.cast"
    why = "tf.to_float and the others were taken out in TensorFlow 2.0; they were tf.cast to the type they name."
    source = "tensorflow.org/guide/migrate"
    hints = tuple(TYPES)

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        owner, _, name = self.path(original.func).rpartition(".")
        given = by_name(updated, ("x", "name"))
        if owner not in ("tensorflow", "tensorflow.compat.v1") or name not in TYPES or not given or "x" not in given:
            return updated
        func = updated.func
        root: cst.BaseExpression = func
        while isinstance(root, cst.Attribute):
            root = root.value
        if not isinstance(func, cst.Attribute) or not isinstance(root, cst.Name):
            return updated  # from tensorflow import to_float
        kind = cst.Arg(cst.Attribute(root, cst.Name(TYPES[name])))
        value = given["x"]
        arguments = [value, as_keyword(kind, "dtype") if value.keyword is not None else kind]
        if "name" in given:
            arguments.append(as_keyword(given["name"], "name"))
        new = updated.with_changes(func=cst.Attribute(root, cst.Name("cast")), args=tidy(arguments, updated))
        return self.replace(original, new)
