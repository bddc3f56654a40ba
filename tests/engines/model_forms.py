"""Models in every form, by name: the rows of the table that `test_pairs.py` makes with the forms of data.

Each is a function without arguments that returns a compiled model, and is registered with what it
takes: ``inputs`` is a kind of `INPUTS`, ``targets`` is ``"class"`` (int labels, two classes) or
``"two"`` (a dict of labels ``a`` and ``b``). What is computed by each TensorFlow replica from its own share
of a batch, such as BatchNormalization, cannot equal one device there: ``same_on_tensorflow=False``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np

INPUTS = ("vector", "image", "tokens", "two")
TARGETS = ("class", "two")
TOKENS, LENGTH = 30, 6


@dataclass(frozen=True)
class ModelForm:
    """One form of model.

    Attributes:
        make: Returns it compiled, always with the same weights.
        inputs: ``"vector"`` (rows, 20) float32, ``"image"`` (rows, 8, 8, 3) uint8, ``"tokens"`` (rows, 6) int32,
            or ``"two"``, a dict of ``left`` and ``right`` (rows, 10) float32.
        targets: ``"class"`` or ``"two"``.
        same_on_tensorflow: Whether several TensorFlow replicas compute the same as one device.
    """

    make: Callable[[], keras.Model]
    inputs: str = "vector"
    targets: str = "class"
    same_on_tensorflow: bool = True


MODELS: dict[str, ModelForm] = {}


def model_form(name: str, inputs: str = "vector", targets: str = "class", same_on_tensorflow: bool = True) -> Callable:
    """Register the function below as a form of model."""
    assert inputs in INPUTS and targets in TARGETS and name not in MODELS

    def register(make: Callable[[], keras.Model]) -> Callable[[], keras.Model]:
        def seeded() -> keras.Model:
            keras.utils.set_random_seed(1)
            return make()

        MODELS[name] = ModelForm(seeded, inputs, targets, same_on_tensorflow)
        return seeded

    return register


def samples(inputs: str, targets: str, rows: int, seed: int = 0) -> tuple:
    """Return NumPy inputs and targets of a kind, with something in them to learn."""
    rng = np.random.default_rng(seed)
    x = {
        "vector": lambda: rng.normal(size=(rows, 20)).astype("float32"),
        "image": lambda: rng.integers(0, 256, (rows, 8, 8, 3), dtype="uint8"),
        "tokens": lambda: rng.integers(1, TOKENS, (rows, LENGTH), dtype="int32"),
        "two": lambda: {name: rng.normal(size=(rows, 10)).astype("float32") for name in ("left", "right")},
    }[inputs]()
    first = (x["left"] if inputs == "two" else x).reshape(rows, -1)[:, :2].astype("float32")
    y = (first[:, 0] > first[:, 1]).astype("int32")
    return x, y if targets == "class" else {"a": y, "b": 1 - y}


def compiled(model: keras.Model, **arguments) -> keras.Model:
    """Return a model compiled for two classes."""
    arguments = {"loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"], **arguments}
    model.compile(keras.optimizers.Adam(0.01), **arguments)
    return model


def head() -> keras.layers.Layer:
    """Return the last layer of a model for two classes."""
    return keras.layers.Dense(2, activation="softmax")


@model_form("sequential")
def sequential() -> keras.Model:
    return compiled(keras.Sequential([keras.Input((20,)), keras.layers.Dense(16, activation="relu"), head()]))


@model_form("not built")
def not_built() -> keras.Model:
    return compiled(keras.Sequential([keras.layers.Dense(16, activation="relu"), head()]))


@model_form("weighted metrics")
def weighted_metrics() -> keras.Model:
    model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(8, activation="relu"), head()])
    return compiled(model, weighted_metrics=[keras.metrics.SparseCategoricalAccuracy(name="weighted")])


@model_form("batch normalization", same_on_tensorflow=False)
def batch_normalization() -> keras.Model:
    # Without a bias, whose gradient before a normalization is nothing but rounding.
    layers = [keras.layers.Dense(8, use_bias=False), keras.layers.BatchNormalization()]
    return compiled(keras.Sequential([keras.Input((20,)), *layers, head()]))


@model_form("convolution", inputs="image")
def convolution() -> keras.Model:
    layers = [keras.layers.Rescaling(1 / 255), keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.Flatten()]
    return compiled(keras.Sequential([keras.Input((8, 8, 3)), *layers, head()]))


@model_form("embedding with mask", inputs="tokens")
def embedding() -> keras.Model:
    layers = [keras.layers.Embedding(TOKENS, 4, mask_zero=True), keras.layers.GlobalAveragePooling1D()]
    return compiled(keras.Sequential([keras.Input((LENGTH,), dtype="int32"), *layers, head()]))


@model_form("two inputs", inputs="two")
def two_inputs() -> keras.Model:
    inputs = {name: keras.Input((10,), name=name) for name in ("left", "right")}
    return compiled(keras.Model(inputs, head()(keras.layers.Concatenate()(list(inputs.values())))))


@model_form("two outputs", targets="two")
def two_outputs() -> keras.Model:
    inputs = keras.Input((20,))
    hidden = keras.layers.Dense(8, activation="relu")(inputs)
    outputs = {name: keras.layers.Dense(2, activation="softmax", name=name)(hidden) for name in ("a", "b")}
    losses = dict.fromkeys(outputs, "sparse_categorical_crossentropy")
    metrics = {name: ["accuracy"] for name in outputs}
    return compiled(keras.Model(inputs, outputs), loss=losses, loss_weights={"a": 1.0, "b": 0.5}, metrics=metrics)


class Subclassed(keras.Model):
    """A model whose layers are made in its constructor and called by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.last = keras.layers.Dense(8, activation="relu"), head()

    def call(self, inputs):
        return self.last(self.hidden(inputs))


@model_form("subclassed")
def subclassed() -> keras.Model:
    return compiled(Subclassed())
