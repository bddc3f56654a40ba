"""Read metrics, learning rate and compilations of a running fit into its run."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.metrics import Reading
from .run import Run
from .series import Series

if TYPE_CHECKING:
    from ..backends.base import Engine

# Keras' own callbacks put the rate among the metrics of an epoch.
SET_BY_CALLBACKS = ("learning_rate", "lr")


class Sampler:
    """Fill the series of a run.

    Args:
        run: What is filled.
        engine: Reads the device.
        shapes: The shapes of batches met, counted with the compilations.
    """

    def __init__(self, run: Run, engine: Engine, shapes: Collection[Any] = ()) -> None:
        self.run = run
        self.engine = engine
        self.shapes = shapes
        self._last: dict[str, Reading] = {}
        self._last_step = 0
        self._sampled_at = 0
        self._broken = False
        self._compiled_before: tuple[int, float] = (0, 0.0)

    def start(self, model: Any) -> None:
        """Read the first learning rate, and count compilations from here."""
        self._compiled_before = self.engine.compilations(model)
        self.read_rate(model)

    def start_epoch(self) -> None:
        """Forget the last reading: Keras starts its means anew."""
        self._last, self._last_step = {}, 0

    def sample(self, model: Any) -> None:
        """Read everything in the middle of an epoch."""
        if not self._broken:
            try:
                self._take(self.engine.read_metrics(model))
            except Exception as error:
                # A metric of the user's that takes no NumPy values, say: the training is worth more than its curve.
                self._broken = True
                warnings.warn(f"The metrics are read at the end of an epoch only: {error!r}.", stacklevel=2)
        self.read_rate(model)
        self.count_compilations(model)

    def end_epoch(self, logs: Mapping[str, Any], validated: bool = True) -> None:
        """Take the means of a whole epoch, which Keras has read from the device already.

        The weight behind a mean is what the last sample had for each step, times the steps; it
        is exact where every batch weighs the same.

        Args:
            logs: What Keras gives ``on_epoch_end``; callbacks may have put anything there.
            validated: Whether the epoch was validated to its end.
        """
        found = {name: as_number(value) for name, value in logs.items()}
        numbers = {name: value for name, value in found.items() if value is not None}
        if self.run.step > self._sampled_at:
            share = self.run.epoch_step / self._last_step if self._last_step else 0.0
            readings = {}
            for name, value in numbers.items():
                if name.startswith("val_") or name in SET_BY_CALLBACKS:
                    continue
                last = self._last.get(name)
                count = (last.count or 0.0) * share if last is not None else 0.0
                readings[name] = Reading(value, value * count, count) if count else Reading(value)
            self._take(readings)
        for name, value in numbers.items():
            if name.startswith("val_") and validated:
                self._add(self.run.validation, name.removeprefix("val_"), value)

    def read_rate(self, model: Any) -> None:
        """Read the learning rate."""
        rate = self.engine.read_learning_rate(model)
        if rate is not None:
            self.run.learning_rate.add(self.run.step, rate)

    def count_compilations(self, model: Any) -> None:
        """Count what was compiled since the start."""
        count, seconds = self.engine.compilations(model)
        before, before_seconds = self._compiled_before
        self.run.compilations, self.run.compiling_seconds = count - before, seconds - before_seconds
        self.run.batch_shapes = max(1, len(self.shapes))

    def _take(self, readings: dict[str, Reading]) -> None:
        run = self.run
        for name, reading in readings.items():
            self._add(run.train, name, reading.since(self._last.get(name)))
            self._add(run.running, name, reading.value)
        loss = run.train.get("loss")
        if run.nan_step is None and loss is not None and not math.isfinite(loss.values[-1]):
            run.nan_step = run.step
        self._last, self._last_step = readings, run.epoch_step
        self._sampled_at = run.step

    def _add(self, columns: dict[str, Series], name: str, value: float) -> None:
        columns.setdefault(name, Series(name)).add(self.run.step, value)


def as_number(value: Any) -> float | None:
    """Return a single number as a float, None for anything else."""
    try:
        return float(value) if np.ndim(value) == 0 else None
    except (TypeError, ValueError):
        return None
