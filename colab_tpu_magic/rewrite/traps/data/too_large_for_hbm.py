"""Trap ``out-of-hbm``: a model whose weights alone do not fit in the memory of a device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ....sizes import bytes_text
from ...finding import Finding
from ...prepared import PreparedFit
from ..base import Trap

if TYPE_CHECKING:
    from ....backends.base import Runtime

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
        model, have = prepared.request.model, found.chip.hbm_bytes_per_device
        needed = certain_bytes(model)
        if needed <= have:
            return []
        weights, least = weight_bytes(model), weight_bytes(model) + gradient_bytes(model)
        room = f"on every replica, and a device of {found.name} has {bytes_text(have)}"
        if least <= have:
            message = f"Weights, gradients and optimizer state take {bytes_text(needed)} {room}."
            without = f"  # {bytes_text(least)}: it remembers nothing of a weight"
            return [self.finding("error", message, f"model.compile(optimizer=keras.optimizers.SGD(), ...){without}")]
        what = f"The weights alone take {bytes_text(weights)}"
        if weights <= have:
            what = f"Weights and a gradient for each take {bytes_text(least)}"
        layer, of_layer = largest_layer(model)
        kind = type(layer).__name__
        message = (
            f"{what} {room}: no optimizer and no batch size makes it fit. The largest layer is {layer.name!r} ({kind}) "
            f"with {bytes_text(of_layer)} of weights, {100 * of_layer / max(1, weights):.0f} % of them."
        )
        return [
            self.finding("error", message, f"model.get_layer({layer.name!r}).get_config()  # a smaller {kind} there")
        ]


def certain_bytes(model: Any) -> int:
    """Return the least bytes that training takes on each replica, activations left out.

    Args:
        model: A built Keras model.
    """
    remembered = max(_size_of(model.optimizer.variables), gradient_bytes(model) * _slots(model.optimizer))
    return weight_bytes(model) + gradient_bytes(model) + remembered


def weight_bytes(model: Any) -> int:
    """Return the bytes of a model's or a layer's variables."""
    return _size_of(model.variables)


def gradient_bytes(model: Any) -> int:
    """Return the bytes of one float for each trainable weight."""
    return sum(math.prod(variable.shape) for variable in model.trainable_variables) * FLOAT_BYTES


def largest_layer(model: Any) -> tuple[Any, int]:
    """Return the layer of a model, those inside its layers included, with the most bytes of weights, and these bytes.

    Args:
        model: A built Keras model with at least one layer.
    """
    within = [layer for layer in model._flatten_layers(include_self=False) if not getattr(layer, "layers", None)]
    sizes = [(weight_bytes(layer), layer) for layer in within or [model]]
    size, layer = max(sizes, key=lambda one: one[0])
    return layer, size


def _size_of(variables: Any) -> int:
    return sum(math.prod(variable.shape) * _bytes_of(variable) for variable in variables)


def _bytes_of(variable: Any) -> int:
    name = str(variable.dtype)
    return 8 if "64" in name else 2 if "16" in name else 1 if name.endswith(("int8", "bool")) else FLOAT_BYTES


def _slots(optimizer: Any) -> int:
    """Return the numbers that an optimizer remembers of each weight, for those whose class tells."""
    import keras

    inner = getattr(optimizer, "inner_optimizer", None) or optimizer
    return 2 if isinstance(inner, keras.optimizers.Adam | keras.optimizers.Nadam) else 0
