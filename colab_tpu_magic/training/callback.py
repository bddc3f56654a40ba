"""The Keras callback that watches a fit: it samples metrics and ends the fit cleanly.

Everything happens in ``on_train_batch_begin`` and ``on_test_batch_begin``. A hook at the end
of a batch would make Keras wait for the device after every step.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from ..backends.metrics import Reading
from .control import Control
from .run import Run
from .series import Series

if TYPE_CHECKING:
    from ..backends.base import Engine
    from ..rewrite.feed import Feed
    from ..widgets.live import LiveView

SAMPLE_SECONDS = 0.25
SLOWEST_SAMPLE_SECONDS = 1.0
SAMPLE_SHARE = 0.02
FEWEST_BATCHES = 4


class Guard(keras.callbacks.Callback):
    """End an evaluation or a prediction between two steps when Ctrl-C arrived.

    Args:
        control: Holds the interrupt.
    """

    def __init__(self, control: Control) -> None:
        super().__init__()
        self.control = control

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Raise KeyboardInterrupt when one arrived."""
        self.control.check()

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Raise KeyboardInterrupt when one arrived."""
        self.control.check()


class Monitor(keras.callbacks.Callback):
    """Fill a run while Keras trains.

    Args:
        run: What is filled.
        engine: Reads the running metrics.
        view: Drawn after each sample.
        control: Interrupts and stops.
        feed: The training feed, whose error is raised between two steps.
    """

    def __init__(self, run: Run, engine: Engine, view: LiveView, control: Control, feed: Feed) -> None:
        super().__init__()
        self.record = run
        self.engine = engine
        self.view = view
        self.control = control
        self.feed = feed
        self._epoch_start = 0
        self._next_sample = 0.0
        self._last: dict[str, Reading] = {}
        self._sampled_at = 0
        self._closed = True

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Start an epoch."""
        self._check()
        self.record.epoch = epoch + 1
        self.record.epoch_step = 0
        self._epoch_start = self.record.step
        self._last = {}
        self._closed = False
        if self.record.compile_seconds is not None:
            self.record.phase = "training"

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Count the steps done, end the fit when asked, and sample at most four times a second."""
        self._check()
        record = self.record
        record.epoch_step = batch
        record.step = self._epoch_start + batch
        if batch == 0:
            return
        now = time.perf_counter()
        if record.compile_seconds is None:
            record.compile_seconds = now - record.started
            record.phase = "training"
        if now >= self._next_sample and not self._too_early(batch):
            self._sample(now)

    def on_test_begin(self, logs: Any = None) -> None:
        """Close the epoch before validation resets the metrics."""
        self._close_epoch()
        self._check()
        self.engine.settle(self.model)
        self.record.phase = "validating"
        self.view.update()

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """End the fit when asked."""
        self._check()
        self.view.update()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Keep the epoch's validation metrics."""
        logs = logs or {}
        self._close_epoch()
        for name, value in logs.items():
            if name.startswith("val_") and np.ndim(value) == 0:
                self._add(self.record.validation, name.removeprefix("val_"), float(value))
        self._check()
        self.view.update()

    def _check(self) -> None:
        self.control.check()
        if self.feed.error is not None:
            raise self.feed.error
        if self.control.stopping.is_set():
            self.model.stop_training = True

    def _too_early(self, batch: int) -> bool:
        # Keras starts its means anew each epoch: the mean of one or two batches would show as a spike.
        return batch < FEWEST_BATCHES and (self.record.steps_per_epoch or 0) > 5 * FEWEST_BATCHES

    def _sample(self, now: float) -> None:
        self._take(self.engine.read_metrics(self.model))
        self.view.update()
        end = time.perf_counter()
        # The first reading also compiles the reading; a chart that then stood still would be worse than its cost.
        self._next_sample = end + min(max(SAMPLE_SECONDS, (end - now) / SAMPLE_SHARE), SLOWEST_SAMPLE_SECONDS)

    def _take(self, readings: dict[str, Reading]) -> None:
        for name, reading in readings.items():
            self._add(self.record.train, name, reading.since(self._last.get(name)))
        self._last = readings
        self._sampled_at = self.record.step

    def _close_epoch(self) -> None:
        if self._closed:
            return
        self._closed = True
        record = self.record
        if self.model.stop_training:
            record.epoch_step += int(self.model.steps_per_execution)
        elif record.steps_per_epoch is not None:
            given = -(-self.feed.rows_given // self.feed.batch_size) - self._epoch_start
            record.epoch_step = min(record.steps_per_epoch, max(0, given)) if self.feed.once else record.steps_per_epoch
            if record.epoch_step < record.steps_per_epoch:
                warnings.warn(
                    f"The generator ended after {record.epoch_step} of {record.steps_per_epoch} steps of epoch {record.epoch}.",
                    stacklevel=2,
                )
        else:
            record.epoch_step = -(-self.feed.rows_given // self.feed.batch_size)
        record.step = self._epoch_start + record.epoch_step
        if record.compile_seconds is None:
            record.compile_seconds = time.perf_counter() - record.started
        if record.step > self._sampled_at:
            self._take(self.engine.read_metrics(self.model))

    def _add(self, columns: dict[str, Series], name: str, value: float) -> None:
        columns.setdefault(name, Series(name)).add(self.record.step, value)
