"""While Keras on TensorFlow is traced, open each layer's name scope under the layer's own path.

TensorFlow makes the names of scopes unique: the second time that ``dense`` is opened it is ``dense_1``, which is the
name of another layer too. Here every layer has one scope, its path below the model, whose root is ``forward``.

Private to Keras: ``Layer._open_name_scope``, which every layer opens around ``build`` and ``call``. Tried on keras 3.10.0,
3.13.2 and 3.15.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from .names import ROOT


@contextmanager
def layer_scopes(model: Any) -> Iterator[None]:
    """Name the operations that are traced while entered by the paths of a model's layers."""
    original = keras.layers.Layer._open_name_scope
    opened: list[Any] = []

    def open_name_scope(layer: Any) -> Any:
        return _scope(original(layer), layer, model, opened)

    keras.layers.Layer._open_name_scope = open_name_scope
    try:
        yield
    finally:
        keras.layers.Layer._open_name_scope = original


@contextmanager
def _scope(own: Any, layer: Any, model: Any, opened: list[Any]) -> Iterator[None]:
    if tf.executing_eagerly():
        with own:
            yield
        return
    again = bool(opened) and opened[-1] is layer
    if not again:
        opened.append(layer)
    path = [ROOT if one is model else one.name for one in opened]
    try:
        with own, tf.name_scope("/".join(path) + "/"):
            yield
    finally:
        if not again:
            opened.pop()
