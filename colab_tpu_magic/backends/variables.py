"""Find every Keras variable that belongs to a training: weights, metrics, seeds, optimizers.

Private to Keras: ``Layer._flatten_layers``, the metrics that ``compile`` was given, and the
``_value`` a variable holds. Tried on
keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def optimizers_of(model: Any) -> list[Any]:
    """Return the optimizers of a model: the compiled one, wrapped ones, and ones held as attributes.

    A custom ``train_step`` (a GAN, say) often keeps two optimizers of its own.
    """
    import keras

    found: list[Any] = []
    candidates = [getattr(model, "optimizer", None), *vars(model).values()]
    while candidates:
        candidate = candidates.pop(0)
        if isinstance(candidate, keras.optimizers.Optimizer) and not any(candidate is known for known in found):
            found.append(candidate)
            candidates.append(getattr(candidate, "inner_optimizer", None))
    return found


def live_variables(model: Any) -> Iterator[Any]:
    """Yield each Keras variable of a training that has a value, once."""
    seen: set[int] = set()
    groups: list[Any] = [layer.variables for layer in model._flatten_layers()]
    groups += [model.variables, model.metrics_variables]
    groups += [optimizer.variables for optimizer in optimizers_of(model)]
    groups += [metric.variables for metric in _waiting_metrics(model)]
    for group in groups:
        for variable in group:
            if id(variable) not in seen:
                seen.add(id(variable))
                if variable._value is not None:
                    yield variable


def _waiting_metrics(model: Any) -> list[Any]:
    """Return metric objects given to `compile`, which the model lists only once it is built."""
    import keras

    compiled = getattr(model, "_compile_metrics", None)
    given = (getattr(compiled, "_user_metrics", None), getattr(compiled, "_user_weighted_metrics", None))
    return [leaf for leaf in keras.tree.flatten(given) if isinstance(leaf, keras.metrics.Metric)]


def scalar(value: Any) -> float:
    """Return a number, a tensor or a Keras variable, on replicas or not, as a float."""
    import keras

    return float(keras.ops.convert_to_numpy(getattr(value, "value", value)))


def forget_functions(model: Any) -> None:
    """Drop the compiled step functions, so that Keras makes them anew where the variables now are."""
    for part in model._flatten_layers():
        for name in ("train_function", "test_function", "predict_function"):
            if getattr(part, name, None) is not None:
                setattr(part, name, None)
