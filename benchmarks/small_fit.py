"""A small network, images like digits, and a clock: what `real_fit` trains, imported in its kernels."""

from __future__ import annotations

import operator
import time
from typing import Any

import keras
import numpy as np


def generated_digits(rows: int) -> tuple[Any, Any]:
    """Return ten classes of noisy images, float32 (rows, 784) from 0 to 1, and int labels; no network is needed."""
    random = np.random.default_rng(0)
    shapes = random.random((10, 784), dtype="float32")
    labels = random.integers(0, 10, rows, dtype="int32")
    images = 0.5 * shapes[labels] + 0.5 * random.random((rows, 784), dtype="float32")
    return images, labels


def network() -> Any:
    """Return the compiled network."""
    model = keras.Sequential(
        [keras.Input((784,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10, activation="softmax")]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


class Clock(keras.callbacks.Callback):
    """Read the clocks at the end of each epoch; nothing is done in between.

    Args:
        steps: Steps in an epoch.

    Attributes:
        wall: ``time.perf_counter()`` at the end of each epoch.
        cpu: CPU time of the process at the same moments.
        losses: Training loss of each epoch.
    """

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.wall: list[float] = []
        self.cpu: list[float] = []
        self.losses: list[float] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Read the clocks."""
        self.wall.append(time.perf_counter())
        self.cpu.append(time.process_time())
        self.losses.append(float((logs or {})["loss"]))

    def reading(self) -> dict[str, Any]:
        """Return what a step took after the first epoch, whose first step is compiled, and the last loss."""
        steps = self.steps * (len(self.wall) - 1)
        return {
            "epochs": len(self.wall),
            "step_seconds": (self.wall[-1] - self.wall[0]) / steps,
            "fastest_step_seconds": min(map(operator.sub, self.wall[1:], self.wall)) / self.steps,
            "step_cpu_seconds": (self.cpu[-1] - self.cpu[0]) / steps,
            "loss": self.losses[-1],
        }
