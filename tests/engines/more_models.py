"""Small compiled models, one for each form that a user's model can have, and data for them.

Each entry of `MODELS` is ``name: (factory, kind)``: the factory takes nothing and returns a
compiled model that is the same each time; `data_for(kind)` returns its ``(x, y)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import layers

MODELS: dict[str, tuple[Callable[[], keras.Model], str]] = {}
ROWS = 96


def data_for(kind: str, rows: int = ROWS) -> tuple[Any, Any]:
    """Return ``(x, y)`` of one kind of input: vector, image, tokens, two or text."""
    rng = np.random.default_rng(3)
    vector = rng.normal(size=(rows, 12)).astype("float32")
    labels = (vector[:, 0] > 0).astype("int32")
    if kind == "image":
        return rng.integers(0, 255, (rows, 8, 8, 4)).astype("float32") + 50 * labels[:, None, None, None], labels
    if kind == "tokens":
        tokens = rng.integers(1, 9, (rows, 6)).astype("int32") * (np.arange(6) < rng.integers(2, 7, (rows, 1)))
        return tokens.astype("int32"), labels
    if kind == "two":
        return {"left": vector[:, :6], "right": vector[:, 6:]}, {"label": labels, "number": vector[:, :1] * 2}
    if kind == "two list":
        return [vector[:, :6], vector[:, 6:]], [labels, vector[:, :1] * 2]
    return vector, labels


def form(name: str, kind: str = "vector") -> Callable[[Callable[[], keras.Model]], Callable[[], keras.Model]]:
    """Enter a factory under a name; it begins from the same seed each time."""

    def enter(factory: Callable[[], keras.Model]) -> Callable[[], keras.Model]:
        def seeded() -> keras.Model:
            keras.utils.set_random_seed(7)
            return factory()

        MODELS[name] = (seeded, kind)
        return seeded

    return enter


def compiled(model: keras.Model, optimizer: Any = None, **arguments: Any) -> keras.Model:
    """Compile a classifier of two classes."""
    arguments = {"loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"], **arguments}
    model.compile(optimizer if optimizer is not None else keras.optimizers.Adam(0.01), **arguments)
    return model


def classifier(*middle: Any, shape: tuple[int, ...] = (12,), optimizer: Any = None, **arguments: Any) -> keras.Model:
    """Return a compiled Sequential model of some layers and an output."""
    model = keras.Sequential([keras.Input(shape), *middle, layers.Dense(2, activation="softmax")])
    return compiled(model, optimizer, **arguments)


@form("sequential, not built")
def _unbuilt() -> keras.Model:
    return compiled(keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(2, activation="softmax")]))


def _two_headed(inputs: Any, left: Any, right: Any, as_dict: bool) -> keras.Model:
    shared = layers.Dense(4, activation="tanh")
    hidden = layers.Concatenate()([shared(left), shared(right)])
    label = layers.Dense(2, activation="softmax", name="label")(hidden)
    number = layers.Dense(1, name="number")(hidden)
    losses = {"label": "sparse_categorical_crossentropy", "number": "mse"}
    weights = {"label": 1.0, "number": 0.3}
    outputs = {"label": label, "number": number}
    if as_dict:
        metrics: Any = {"label": ["accuracy"], "number": ["mae"]}
        return compiled(keras.Model(inputs, outputs), loss=losses, loss_weights=weights, metrics=metrics)
    return compiled(
        keras.Model(inputs, list(outputs.values())),
        loss=list(losses.values()),
        loss_weights=list(weights.values()),
        metrics=[["accuracy"], ["mae"]],
    )


@form("shared layer, dicts of inputs and outputs, loss weights", "two")
def _dicts() -> keras.Model:
    inputs = {name: keras.Input((6,), name=name) for name in ("left", "right")}
    return _two_headed(inputs, inputs["left"], inputs["right"], as_dict=True)


@form("shared layer, lists of inputs and outputs, loss weights", "two list")
def _lists() -> keras.Model:
    inputs = [keras.Input((6,)), keras.Input((6,))]
    return _two_headed(inputs, *inputs, as_dict=False)


@form("batch normalization")
def _batch_normalization() -> keras.Model:
    return classifier(layers.Dense(8), layers.BatchNormalization(momentum=0.8), layers.ReLU())


@form("dropout and noise")
def _dropout() -> keras.Model:
    return classifier(layers.Dense(8), layers.Dropout(0.3, seed=1), layers.GaussianNoise(0.1, seed=2))


@form("embedding with mask, LSTM and GRU", "tokens")
def _recurrent() -> keras.Model:
    return classifier(
        layers.Embedding(9, 4, mask_zero=True), layers.LSTM(4, return_sequences=True), layers.GRU(3), shape=(6,)
    )


@form("multi-head attention", "tokens")
def _attention() -> keras.Model:
    inputs = keras.Input((6,))
    embedded = layers.Embedding(9, 4, mask_zero=True)(inputs)
    seen = layers.MultiHeadAttention(2, 4)(embedded, embedded)
    pooled = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(layers.Add()([embedded, seen])))
    return compiled(keras.Model(inputs, layers.Dense(2, activation="softmax")(pooled)))


@form("dilated, grouped, depthwise convolution and upsampling", "image")
def _convolution() -> keras.Model:
    return classifier(
        layers.Rescaling(1 / 255),
        layers.Conv2D(4, 3, dilation_rate=2, padding="same", activation="relu"),
        layers.Conv2D(4, 3, groups=2, padding="same", activation="relu"),
        layers.DepthwiseConv2D(3, padding="same"),
        layers.UpSampling2D(2, interpolation="bilinear"),
        layers.Conv2DTranspose(2, 2, strides=2),
        layers.GlobalAveragePooling2D(),
        shape=(8, 8, 4),
    )


@form("preprocessing and augmentation layers", "image")
def _preprocessing() -> keras.Model:
    adapted = layers.Normalization()
    adapted.adapt(data_for("image")[0])
    return classifier(
        adapted,
        layers.RandomFlip(seed=1),
        layers.RandomTranslation(0.1, 0.1, seed=2),
        layers.Flatten(),
        shape=(8, 8, 4),
    )
