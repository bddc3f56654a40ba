"""Have a model take numbers where it takes text, in place: its own layers from a cut on, while a call runs.

Private to Keras: a functional model of tensors inside another adds to ``Operation._inbound_nodes`` and
``_outbound_nodes``, and ``Layer.__call__`` asks ``_assert_input_compatibility`` and ``autocast``. Tried on keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .variables import forget_functions

NAME = "after_text"
HELD = ("call", "_assert_input_compatibility")
FUNCTIONS = ("train_function", "test_function", "predict_function")

Kept = dict[int, tuple[Any, Any, dict[str, Any]]]
"""Of each model: itself, its compiled loss, and the step functions that were compiled for the rest of it."""


def rest_of(cuts: list[Any], outputs: Any) -> Any:
    """Return the layers from some tensors on as a functional model: the same layers, which know nothing of it.

    Args:
        cuts: KerasTensors inside a functional model, from which its outputs can be computed.
        outputs: Its outputs, as it nests them.
    """
    import keras

    layers = {id(layer): layer for layer in _operations(outputs)}
    histories = [(tensor, tensor._keras_history) for tensor in cuts]
    before = [(one, len(one._inbound_nodes), len(one._outbound_nodes)) for one in layers.values()]
    try:
        return keras.Model(cuts, outputs, name=NAME)
    finally:
        # Or `layer.output` would be one of two, and asking for it an error.
        for one, inbound, outbound in before:
            del one._inbound_nodes[inbound:]
            del one._outbound_nodes[outbound:]
        for tensor, history in histories:  # of an Input that stays one, it is overwritten
            tensor._keras_history = history


def _operations(outputs: Any) -> Iterator[Any]:
    """Yield every operation on the way to some outputs."""
    import keras

    waiting, seen = list(keras.tree.flatten(outputs)), set()
    while waiting:
        operation = waiting.pop()._keras_history.operation
        if operation is None or id(operation) in seen:
            continue
        seen.add(id(operation))
        yield operation
        waiting += [tensor for node in operation._inbound_nodes for tensor in node.input_tensors]


class RestCall:
    """What a model's ``call`` is meanwhile."""

    def __init__(self, rest: Any) -> None:
        self.rest = rest

    def __call__(self, inputs: Any, training: Any = None, mask: Any = None, **more: Any) -> Any:
        """Compute the outputs of numbers, one array or several in the order of the cuts."""
        given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
        with warnings.catch_warnings():  # the layers give int64, and JAX takes the int32 that arrive
            warnings.filterwarnings("ignore", message="Explicitly requested dtype int64")
            return self.rest.call(given, training=training, **more)


def is_cut(model: Any) -> bool:
    """Return whether a model takes numbers in place of text at the moment."""
    return isinstance(vars(model).get("call"), RestCall)


@contextmanager
def cut(model: Any, rest: Any, kept: Kept | None = None) -> Iterator[None]:
    """Have a model compute with the rest of its layers.

    Args:
        model: The Keras model; left alone when it is cut already.
        rest: From `rest_of`; None leaves the model alone.
        kept: Keeps the compiled steps from one call to the next.
    """
    if rest is None or is_cut(model):
        yield
        return
    own, kept = vars(model), {} if kept is None else kept
    forget_functions(model)
    _, compiled, functions = kept.pop(id(model), (model, None, {}))
    if compiled is getattr(model, "_compile_loss", None):
        for name, function in functions.items():
            setattr(model, name, function)
    own.update(call=RestCall(rest), _assert_input_compatibility=lambda *args: None)
    # A Sequential would cast floats to the dtype of its Input, which is "string".
    autocast, own["autocast"] = own["autocast"], False
    try:
        yield
    finally:
        own["autocast"] = autocast
        for name in HELD:
            own.pop(name, None)
        functions = {name: getattr(model, name, None) for name in FUNCTIONS}
        kept[id(model)] = model, getattr(model, "_compile_loss", None), functions
        forget_functions(model)
