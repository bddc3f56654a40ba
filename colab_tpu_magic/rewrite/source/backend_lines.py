"""Set-up lines of ``keras.backend`` and of TensorFlow 1 that have no work left."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite

_SESSION_WHY = "There are no sessions any more: memory and devices are the runtime's."
_EAGER_WHY = "TensorFlow 2 runs eagerly from the start, and Keras 3 needs that."
_PHASE_WHY = "Keras 3 has no learning phase: fit trains, evaluate and predict do not, and a layer takes training=."
KERAS = {
    "backend.set_session": _SESSION_WHY,
    "backend.tensorflow_backend.set_session": _SESSION_WHY,
    "backend.set_learning_phase": _PHASE_WHY,
    "backend.manual_variable_initialization": _SESSION_WHY,
}
TENSORFLOW = {
    name: _EAGER_WHY
    for name in (
        "enable_eager_execution",
        "enable_v2_behavior",
        "enable_resource_variables",
        "disable_eager_execution",
        "disable_v2_behavior",
        "disable_v2_tensorshape",
        "reset_default_graph",
    )
}
_DIM_ORDERING = {"tf": "channels_last", "th": "channels_first"}


class BackendLines(Rewrite):
    """Drop the lines; ``clear_session``, ``set_floatx`` and ``set_image_data_format`` stay."""

    id = "set-up-lines"
    title = "Set-up that has no work left"
    why = _EAGER_WHY
    source = "keras.io/api/utils/config_utils; tensorflow.org/guide/migrate"
    hints = (
        *(name.rpartition(".")[2] for name in (*KERAS, *TENSORFLOW)),
        "set_image_dim_ordering",
        "ConfigProto",
        "GPUOptions",
    )

    def leave_Expr(self, original: cst.Expr, updated: cst.Expr) -> cst.BaseSmallStatement:
        """Drop one statement."""
        if not isinstance(original.value, cst.Call):
            return updated
        why = self._gone(original.value.func)
        return updated.with_changes(value=self.drop(original, why)) if why else updated

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite ``K.set_image_dim_ordering('tf')``."""
        func = updated.func
        if not isinstance(func, cst.Attribute) or self.keras(original.func) != "backend.set_image_dim_ordering":
            return updated
        old = original.args[0].value if original.args else None
        if not isinstance(old, cst.SimpleString) or old.evaluated_value not in _DIM_ORDERING:
            return updated
        new = cst.SimpleString(f"{old.quote}{_DIM_ORDERING[str(old.evaluated_value)]}{old.quote}")
        call = updated.with_changes(
            func=func.with_changes(attr=cst.Name("set_image_data_format")),
            args=[updated.args[0].with_changes(value=new)],
        )
        return self.replace(original, call, "The order of an image's dimensions has had this name since Keras 2.")

    def leave_Attribute(self, original: cst.Attribute, updated: cst.Attribute) -> cst.BaseExpression:
        """Take ``tf.ConfigProto`` from where it is kept; nothing reads it, and the lines on it run."""
        if self.path(original) not in ("tensorflow.ConfigProto", "tensorflow.GPUOptions"):
            return updated
        compat = cst.Attribute(cst.Attribute(updated.value, cst.Name("compat")), cst.Name("v1"))
        return self.replace(original, updated.with_changes(value=compat), _SESSION_WHY)

    def _gone(self, func: cst.BaseExpression) -> str:
        keras = self.keras(func)
        if keras in KERAS:
            return KERAS[keras]
        path = self.path(func).replace("tensorflow.compat.v1.", "tensorflow.")
        return TENSORFLOW.get(path.removeprefix("tensorflow."), "") if path.startswith("tensorflow.") else ""
