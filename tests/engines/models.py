"""Small models and data for the tests that train."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np

import colab_tpu_magic as tpu
from colab_tpu_magic.session import intercepting

ROWS = 1003


def rows(count: int = ROWS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 inputs (count, 20) and int32 labels (count,)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 20)).astype("float32")
    return x, (x[:, 0] + 0.3 * x[:, 1] > 0).astype("int32")


def dense(optimizer: Any = None, **compile_arguments: Any) -> keras.Model:
    """Return a compiled model with nothing random in it after the first weights."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [keras.Input((20,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(2, activation="softmax")]
    )
    arguments = {"metrics": ["accuracy"], **compile_arguments}
    model.compile(optimizer or keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", **arguments)
    return model


def with_state(optimizer: Any = None) -> keras.Model:
    """Return a compiled model with BatchNormalization and Dropout."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((20,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.1),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile(optimizer or keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@contextmanager
def training(**options: Any) -> Iterator[Any]:
    """Enter what `%%tpu_fit --quiet` enters."""
    options.setdefault("quiet", True)
    with intercepting(tpu.FitOptions(**options)) as interceptor:
        yield interceptor


def changed(run: Any) -> dict[str, tuple[str, str]]:
    """Return {rule: (before, after)} of a run."""
    return {change.rule: (change.before, change.after) for change in run.changes}


def distance(first: keras.Model, second: keras.Model) -> float:
    """Return the largest difference between two models' weights."""
    return max(float(np.abs(a - b).max()) for a, b in zip(first.get_weights(), second.get_weights(), strict=True))
