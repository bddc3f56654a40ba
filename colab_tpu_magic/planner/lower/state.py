"""Build what a model's first fit would build, and set what it computes in; for the length of a lowering.

Private to Keras: ``_symbolic_build``, ``_flatten_layers``. Tried on keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

from typing import Any

from ...backends.variables import optimizers_of
from ...training.settings import POLICIES, last_layers
from ..module import OPTIMIZER, PARAMETER, STATE


def set_precision(model: Any, precision: str | None) -> None:
    """Let every layer but the last compute in a precision, as ``%%tpu_fit --precision`` does; None leaves it."""
    if precision is None:
        return
    last = last_layers(model)
    for layer in model._flatten_layers():
        layer.dtype_policy = "float32" if any(layer is one for one in last) else POLICIES[precision]


def build(model: Any, specs: tuple[Any, Any, Any]) -> None:
    """Build model, loss, metrics and optimizer from the shapes of a batch, as the first step of a fit does."""
    model._symbolic_build(data_batch=specs)


def roles(model: Any) -> dict[int, str]:
    """Return the role of each variable of a training by its identity."""
    found = {id(variable): STATE for variable in [*model.variables, *model.metrics_variables]}
    found |= {id(variable): PARAMETER for variable in model.trainable_variables}
    # Custom steps keep optimizers of their own.
    for optimizer in optimizers_of(model):
        found |= {id(variable): OPTIMIZER for variable in optimizer.variables}
    return found


def layer_paths(model: Any) -> tuple[str, ...]:
    """Return the paths of a model's layers in the order of the model, nested ones behind their holder.

    A path begins below the model: ``"encoder/dense"`` is the layer ``dense`` of the layer ``encoder``.
    """
    paths: list[str] = []

    def add(layers: Any, above: str) -> None:
        for layer in layers:
            path = f"{above}{layer.name}"
            if path not in paths:
                paths.append(path)
                add(_children(layer), f"{path}/")

    add(_children(model), "")
    return tuple(paths)


def _children(layer: Any) -> list[Any]:
    return [
        one for one in layer._flatten_layers(include_self=False, recursive=False) if type(one).__name__ != "InputLayer"
    ]
