"""What a caught fit, evaluate or predict returns: the right form, and no figure that could pass for one."""

from __future__ import annotations

from typing import Any

import numpy as np

NOT_A_FIGURE = float("nan")


def no_history(model: Any, arguments: dict[str, Any]) -> Any:
    """Return a History whose every figure is NaN.

    Args:
        model: The compiled model.
        arguments: The call's arguments by name.
    """
    import keras

    epochs = list(range(int(arguments["initial_epoch"] or 0), int(arguments["epochs"] or 1)))
    names = metric_names(model)
    if arguments["validation_data"] is not None or arguments["validation_split"]:
        names += [f"val_{name}" for name in names]
    history = keras.callbacks.History()
    history.epoch = epochs
    history.history = {name: [NOT_A_FIGURE] * len(epochs) for name in names}
    history.set_model(model)
    return history


def no_evaluation(model: Any, as_dict: bool) -> Any:
    """Return NaN for the loss and every metric, in the form that Keras returns them."""
    names = metric_names(model)
    if as_dict:
        return dict.fromkeys(names, NOT_A_FIGURE)
    return [NOT_A_FIGURE] * len(names) if len(names) > 1 else NOT_A_FIGURE


def no_prediction(model: Any, arguments: dict[str, Any]) -> Any:
    """Return zeros in the shape that the model gives for the rows there are; one row where nobody knows them."""
    import keras

    first = keras.tree.flatten(arguments["x"])[0] if isinstance(arguments["x"], dict | list | tuple) else arguments["x"]
    shape = getattr(first, "shape", None)
    rows = int(shape[0]) if shape and shape[0] is not None else 1
    outputs = getattr(model, "outputs", None) if getattr(model, "built", False) else None
    if not outputs:
        return np.zeros((rows, 1), "float32")
    made = [np.zeros((rows, *(length or 1 for length in output.shape[1:])), "float32") for output in outputs]
    return made[0] if len(made) == 1 else made


def metric_names(model: Any) -> list[str]:
    """Return the names under which Keras reports a model's figures, the loss first, before it has met data.

    Private to Keras: ``_compile_metrics._user_metrics``. Tried on keras 3.10.0, 3.13.2 and 3.15.1.
    """
    import keras

    compiled = getattr(model, "_compile_metrics", None)
    groups = [getattr(compiled, name, None) for name in ("_user_metrics", "_user_weighted_metrics")]
    metrics = [metric for group in groups for metric in keras.tree.flatten(group) if metric is not None]
    return ["loss", *(_name(metric) for metric in metrics)]


def _name(metric: Any) -> str:
    return (
        metric if isinstance(metric, str) else str(getattr(metric, "name", "") or getattr(metric, "__name__", metric))
    )
