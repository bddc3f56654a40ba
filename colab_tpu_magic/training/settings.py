"""Set what a fit needs on the user's model and optimizer, and put the user's own back after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from ..backends.gradients import divided_gradients
from ..backends.loss_scale import scaled_losses
from ..backends.variables import forget_functions, scalar
from ..rewrite.prepared import PreparedFit
from .control import Control

POLICIES = {"bfloat16": "mixed_bfloat16", "float32": "float32"}


@contextmanager
def fit_settings(prepared: PreparedFit, control: Control) -> Iterator[None]:
    """Hold jit_compile, steps per execution, precision and learning rate for the length of a fit."""
    model = prepared.request.model
    with held_attribute(model, "jit_compile", prepared.jit_compile):
        with held_attribute(model, "steps_per_execution", prepared.steps_per_execution):
            with _precision(model, prepared.precision, _on_host(prepared)), _rate(prepared, control):
                with divided_gradients(model, prepared.gradient_divisor), _losses(prepared):
                    yield


def _losses(prepared: PreparedFit) -> AbstractContextManager[None]:
    if not prepared.scaled_losses:
        return nullcontext()
    return scaled_losses(prepared.request.model, prepared.scaled_compute_loss)


@contextmanager
def held_attribute(model: Any, name: str, value: Any) -> Iterator[None]:
    """Hold an attribute that the compiled step functions depend on; None leaves it."""
    before = getattr(model, name)
    if value is None or value == before:
        yield
        return
    setattr(model, name, value)
    forget_functions(model)
    try:
        yield
    finally:
        setattr(model, name, before)
        forget_functions(model)


@contextmanager
def _precision(model: Any, precision: str | None, left: list[Any]) -> Iterator[None]:
    if precision is None:
        yield
        return
    last = last_layers(model)
    before = [(layer, layer.dtype_policy) for layer in model._flatten_layers() if not any(layer is one for one in left)]
    for layer, _ in before:
        layer.dtype_policy = "float32" if layer in last else POLICIES[precision]
    forget_functions(model)
    try:
        yield
    finally:
        for layer, policy in before:
            layer.dtype_policy = policy
        forget_functions(model)


def _on_host(prepared: PreparedFit) -> list[Any]:
    """Return the layers that make numbers of text on the host, and so keep their precision."""
    layers = () if prepared.text is None else prepared.text.head.layers
    return [inner for layer in layers for inner in layer._flatten_layers()]


def last_layers(model: Any) -> list[Any]:
    """Return the layers that make the outputs: their softmax and loss want float32."""
    operations = [getattr(output, "_keras_history", None) for output in _flat(getattr(model, "outputs", None))]
    found = [history.operation for history in operations if history is not None]
    return found or model.layers[-1:]


def _flat(outputs: Any) -> list[Any]:
    import keras

    return keras.tree.flatten(outputs) if outputs is not None else []


@contextmanager
def _rate(prepared: PreparedFit, control: Control) -> Iterator[None]:
    """Set the learning rate; give the user's own back unless a callback or a control has set another.

    A callback that lowers the rate by a factor (ReduceLROnPlateau) lowers the user's by the
    same factor.
    """
    import keras

    if prepared.learning_rate is None:
        yield
        return
    optimizer = prepared.request.model.optimizer
    optimizer = getattr(optimizer, "inner_optimizer", None) or optimizer
    own, fitted = scalar(optimizer.learning_rate), prepared.learning_rate
    optimizer.learning_rate = fitted
    fitted = scalar(optimizer.learning_rate)
    try:
        yield
    finally:
        now = scalar(optimizer.learning_rate)
        relative = any(isinstance(c, keras.callbacks.ReduceLROnPlateau) for c in prepared.request.callbacks)
        if now == fitted or relative:
            optimizer.learning_rate = own * (now / fitted)
        elif control.rate_was_set:
            # So that the rule, which scales again, begins the next fit where this one ended.
            optimizer.learning_rate = now / prepared.rate_factor
