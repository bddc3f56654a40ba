"""``activation=tf.nn.relu`` is ``activation="relu"``: the name works on every backend."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite, keyword

# Functions of TensorFlow, below tf.nn, tf.math or tf itself, and Keras' names of the same functions.
NAMES = {
    "elu": "elu",
    "gelu": "gelu",
    "leaky_relu": "leaky_relu",
    "log_softmax": "log_softmax",
    "relu": "relu",
    "relu6": "relu6",
    "selu": "selu",
    "sigmoid": "sigmoid",
    "silu": "silu",
    "softmax": "softmax",
    "softplus": "softplus",
    "softsign": "softsign",
    "swish": "silu",
    "tanh": "tanh",
}
_PLACES = ("tensorflow.nn.", "tensorflow.math.", "tensorflow.compat.v1.nn.", "tensorflow.")
_ARGUMENTS = ("activation", "recurrent_activation")
# Layers that take an activation by position.
_LAYERS = ("Activation", "Conv1D", "Conv2D", "Conv3D", "Dense", "GRU", "LSTM", "SeparableConv2D", "SimpleRNN")


class Activations(Rewrite):
    """Write Keras' name where a function of TensorFlow is a layer's activation; calls of the function stay."""

    id = "activation-names"
    title = "An activation by its name"
    why = "A function of TensorFlow computes on TensorFlow's tensors only; Keras' name for it works on JAX too."
    source = "keras.io/api/layers/activations; keras.io/guides/migrating_to_keras_3"
    hints = tuple(f".{name}" for name in NAMES)

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite the arguments of one call."""
        function = original.func.attr if isinstance(original.func, cst.Attribute) else original.func
        is_layer = getattr(function, "value", "") in _LAYERS
        arguments = list(updated.args)
        for index, argument in enumerate(original.args):
            name = self._name(argument.value)
            if name and (keyword(argument) in _ARGUMENTS or (is_layer and not keyword(argument) and not argument.star)):
                new = self.replace(argument.value, cst.SimpleString(f"'{name}'"))
                arguments[index] = arguments[index].with_changes(value=new)
        return updated.with_changes(args=arguments)

    def _name(self, node: cst.CSTNode) -> str:
        path = self.path(node)
        place = next((one for one in _PLACES if path.startswith(one)), "")
        return NAMES.get(path.removeprefix(place), "") if place else ""
