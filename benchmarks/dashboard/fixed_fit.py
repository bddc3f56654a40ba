"""A fit whose steps take a fixed time: Keras' own protocol of callbacks around a step that only waits.

The time of a real step varies by a factor of two on shared cores and would hide what a callback costs.

Private to Keras and touched only here: ``_jax_state`` and ``_jax_state_synced``, which the JAX trainer sets after each
step (keras 3.15.1).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import keras
import numpy as np

# A sleep ends some 60 µs late, and by how much varies; the end of a step is therefore awaited awake. Waiting awake
# for the whole step would take the core, and Python's lock, from the threads that callbacks run in, where a device
# that computes leaves both free.
AWAKE_SECONDS = 0.0001
ROWS = 32
MOST_VALUES = 1000


def tiny_model() -> Any:
    """Return a compiled model that has seen one batch, so that its metrics have their variables."""
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    model.train_on_batch(np.zeros((ROWS, 4), "float32"), np.zeros((ROWS, 1), "float32"))
    return model


@dataclass
class FixedFit:
    """One fit of steps that take a fixed time.

    Attributes:
        epochs: Epochs to run.
        steps: Steps in an epoch.
        step_seconds: What a step takes; 0 for no waiting at all.
        folder: Where a contender may write.
        values: How many different values the metrics go through before they repeat. An array that was read once is
            cheaper to read again, and holds memory for that.
        model: A real Keras model, whose metrics hold what a step would leave in them.
        awake_seconds: CPU time of the waiting itself, to be taken off what is measured.
    """

    epochs: int
    steps: int
    step_seconds: float
    folder: Path
    values: int = MOST_VALUES
    model: Any = field(default_factory=tiny_model)
    awake_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Make the values that the steps leave behind, each a fresh array on the device as after a real step."""
        many = min(self.epochs * self.steps, self.values)
        count = (np.arange(many) % self.steps + 1.0) * ROWS
        losses = 0.2 + 2.0 * np.exp(-np.arange(many) / (many / 3)) + 0.05 * np.random.default_rng(0).normal(size=many)
        loss, error = list(jnp.asarray(losses)), list(jnp.asarray(losses / 2))
        columns = [list(jnp.asarray(column)) for column in (losses * count, count, losses / 2 * count, count)]
        self._logs = [{"loss": one, "mae": other} for one, other in zip(loss, error)]
        self._states = [{"metrics_variables": list(values)} for values in zip(*columns)]
        self._done = 0
        self.model.stop_training = False

    def arguments(self, verbose: int = 0) -> dict[str, Any]:
        """Return what Keras' fit tells its list of callbacks.

        Args:
            verbose: 1 for Keras' own bar.
        """
        return {"verbose": verbose, "epochs": self.epochs, "steps": self.steps, "model": self.model}

    def callback_list(self, callbacks: list[Any], verbose: int = 0) -> Any:
        """Return the list of callbacks that Keras' fit would make.

        Args:
            callbacks: The contender's.
            verbose: 1 for Keras' own bar.
        """
        return keras.callbacks.CallbackList(
            callbacks, add_history=True, add_progbar=verbose != 0, **self.arguments(verbose)
        )

    def run(self, callbacks: Any) -> None:
        """Run every epoch."""
        for epoch in range(self.epochs):
            self.run_epoch(callbacks, epoch)

    def run_epoch(self, callbacks: Any, epoch: int) -> None:
        """Run one epoch, calling what Keras' trainer calls in its order."""
        model, many, logs = self.model, len(self._logs), {}
        model.reset_metrics()
        callbacks.on_epoch_begin(epoch)
        for step in range(self.steps):
            callbacks.on_train_batch_begin(step)
            place = self._done % many
            self._wait()
            logs = self._logs[place]
            model._jax_state = self._states[place]
            model._jax_state_synced = False
            self._done += 1
            callbacks.on_train_batch_end(step, logs)
        callbacks.on_epoch_end(epoch, dict(logs))

    def _wait(self) -> None:
        if not self.step_seconds:
            return
        end = time.perf_counter() + self.step_seconds
        if self.step_seconds > AWAKE_SECONDS:
            time.sleep(self.step_seconds - AWAKE_SECONDS)
        before = time.thread_time()
        while time.perf_counter() < end:
            pass
        self.awake_seconds += time.thread_time() - before
