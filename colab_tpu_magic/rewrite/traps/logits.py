"""Trap ``logits-without-softmax``: a loss that wants probabilities after a layer that gives any number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..finding import Finding
from ..prepared import PreparedFit
from .base import Trap
from .data.targets import loss_name

if TYPE_CHECKING:
    from ...backends.base import Runtime

CLASSES = {
    "sparse_categorical_crossentropy": ("SparseCategoricalCrossentropy", "softmax"),
    "categorical_crossentropy": ("CategoricalCrossentropy", "softmax"),
    "binary_crossentropy": ("BinaryCrossentropy", "sigmoid"),
}


class LogitsWithoutSoftmax(Trap):
    """A cross-entropy takes probabilities unless it is told ``from_logits=True``; a Dense layer alone gives any number.

    Numbers below 0 and above 1 are cut off before the logarithm: the loss is wrong without an error, stands still
    for many rows, and often does not fall at all.
    """

    id = "logits-without-softmax"
    title = "Logits for a loss of probabilities"
    source = "keras.io/api/losses/probabilistic_losses (2026): from_logits is False unless it is given"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Compare the activation of the last layer with the loss, where both are certain."""
        model = prepared.request.model
        name = loss_name(model)
        if name not in CLASSES or not _takes_probabilities(model.loss):
            return []
        last = last_layer(model)
        if last is None or not _gives_logits(last):
            return []
        loss, activation = CLASSES[name]
        message = (
            f"The last layer, {last.name!r}, has no {activation}, and the loss {name} takes probabilities: it is wrong "
            "without an error."
        )
        return [self.finding("warning", message, f"loss=keras.losses.{loss}(from_logits=True)")]


def last_layer(model: Any) -> Any:
    """Return the layer that gives a model's only output, None where that is not certain.

    Args:
        model: A Keras model; one of a class of the user's own is never certain.
    """
    import keras

    if type(model) is keras.Sequential:
        return model.layers[-1] if model.layers else None
    if type(model).__name__ != "Functional" or not type(model).__module__.startswith("keras."):
        return None
    if not isinstance(model.output, keras.KerasTensor):
        return None
    return next((layer for layer in model.layers if _output_of(layer) is model.output), None)


def _output_of(layer: Any) -> Any:
    try:
        return layer.output
    except (AttributeError, ValueError):  # never called, or called more than once
        return None


def _gives_logits(layer: Any) -> bool:
    import keras

    return type(layer) is keras.layers.Dense and layer.activation is keras.activations.linear


def _takes_probabilities(loss: Any) -> bool:
    """Return whether a loss is Keras' own and was not told that it gets logits."""
    import keras

    if isinstance(loss, str):
        return True
    if isinstance(loss, keras.losses.Loss):
        return type(loss).__module__.startswith("keras.") and getattr(loss, "from_logits", None) is False
    return getattr(loss, "__module__", "").startswith("keras.")
