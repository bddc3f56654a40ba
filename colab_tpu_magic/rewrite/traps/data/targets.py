"""Read what a model's loss wants of the labels: its name, the classes it counts, the labels there are."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...prepared import PreparedFit
from ...sources import ArraySource

SPARSE = "sparse_categorical_crossentropy"
DENSE = "categorical_crossentropy"


def loss_name(model: Any) -> str:
    """Return the loss of a model with one output as Keras writes it in lower case, empty for anything else.

    Args:
        model: A compiled Keras model.
    """
    loss = getattr(model, "loss", None)
    if isinstance(loss, str):
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", loss).lower()
    if loss is None or isinstance(loss, dict | list | tuple):
        return ""
    # A function's name is its own; an object's is that of its class, for the object may be called anything.
    name = getattr(loss, "__name__", "") or type(loss).__name__
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def ignored_class(model: Any) -> int | None:
    """Return the label that a sparse loss is told to pass over, or None."""
    return getattr(getattr(model, "loss", None), "ignore_class", None)


def classes_of(model: Any) -> int | None:
    """Return how many classes a model with one output tells apart, or None when it is not known."""
    try:
        shape = model.output_shape
    except (AttributeError, ValueError):
        layers = getattr(model, "layers", ())
        shape = (getattr(layers[-1], "units", None),) if layers and not _is_subclassed(model) else (None,)
    if not isinstance(shape, tuple) or not shape or not isinstance(shape[-1], int):
        return None
    return shape[-1]


def labels_of(prepared: PreparedFit) -> np.ndarray | None:
    """Return the labels, those of the first batch where the data is a stream; None unless they are one array."""
    data = prepared.request.data
    parts = data.tree if isinstance(data, ArraySource) else data.example
    labels = parts[1] if len(parts) > 1 else None
    return labels if isinstance(labels, np.ndarray) and labels.size else None


def _is_subclassed(model: Any) -> bool:
    import keras

    return not isinstance(model, keras.Sequential)
