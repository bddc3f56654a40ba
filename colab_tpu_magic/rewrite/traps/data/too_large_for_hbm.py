"""Trap ``out-of-hbm``: a model whose weights alone do not fit in the memory of a device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...finding import Finding
from ...prepared import PreparedFit
from ..base import Trap

if TYPE_CHECKING:
    from ....backends.base import Runtime

GIB = 2**30
FLOAT_BYTES = 4


class TooLargeForHbm(Trap):
    """Every replica keeps all weights, a gradient for each, and what the optimizer remembers of each.

    Adam remembers two numbers a weight, so a model takes at least 16 bytes a parameter before its first
    activation. Only this certain part is counted here: a model may fit by this count and still need a smaller
    batch.
    """

    id = "out-of-hbm"
    title = "Model larger than the memory"
    source = "colabtools#1470, tensorflow/tpu#385"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Add up weights, gradients and the optimizer's state."""
        found = runtime.slice
        if found is None or not getattr(prepared.request.model, "built", False):
            return []
        needed, have = certain_bytes(prepared.request.model), found.chip.hbm_bytes_per_device
        if needed <= have:
            return []
        message = (
            f"Weights, gradients and optimizer state take {needed / GIB:.1f} GiB on every replica, and a device of "
            f"{found.name} has {have / GIB:.1f} GiB."
        )
        return [self.finding("error", message, "model.compile(optimizer=keras.optimizers.SGD(), ...)")]


def certain_bytes(model: Any) -> int:
    """Return the least bytes that training takes on each replica, activations left out.

    Args:
        model: A built Keras model.
    """
    weights = [(math.prod(variable.shape), variable) for variable in model.variables]
    trainable = sum(math.prod(variable.shape) for variable in model.trainable_variables)
    held = sum(count * _bytes_of(variable) for count, variable in weights)
    state = sum(math.prod(variable.shape) * _bytes_of(variable) for variable in model.optimizer.variables)
    remembered = max(state, trainable * FLOAT_BYTES * _slots(model.optimizer))
    return held + trainable * FLOAT_BYTES + remembered


def _bytes_of(variable: Any) -> int:
    name = str(variable.dtype)
    return 8 if "64" in name else 2 if "16" in name else 1 if name.endswith(("int8", "bool")) else FLOAT_BYTES


def _slots(optimizer: Any) -> int:
    """Return the numbers that an optimizer remembers of each weight, for those whose class tells."""
    import keras

    inner = getattr(optimizer, "inner_optimizer", None) or optimizer
    return 2 if isinstance(inner, keras.optimizers.Adam | keras.optimizers.Nadam) else 0
