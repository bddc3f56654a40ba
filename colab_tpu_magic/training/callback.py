"""Watch a fit: sample its metrics, obey its controls, and end it cleanly.

Everything happens before a step begins, on the thread that trains. A hook at the end of a batch
would make Keras wait for the device after every step. Of a step that is not due for a look,
nothing but its number is kept.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import keras

from ..backends.learning_rate import why_locked
from .control import Control
from .run import Run
from .sampler import Sampler
from .step_clock import StepClock

if TYPE_CHECKING:
    from ..backends.base import Engine
    from ..rewrite.feed import Feed
    from ..widgets.live import LiveView

LOOK_SECONDS = 0.05
PAUSE_SECONDS = 0.05
SAMPLE_SECONDS = 0.25
SLOWEST_SAMPLE_SECONDS = 1.0
SAMPLE_SHARE = 0.02
FEWEST_BATCHES = 4


class Guard(keras.callbacks.Callback):
    """End an evaluation or a prediction between two steps when Ctrl-C arrived, an evaluation also when its data ends.

    Args:
        control: Holds the interrupt.
        feed: Knows where the data ends.
    """

    def __init__(self, control: Control, feed: Feed) -> None:
        super().__init__()
        self.control = control
        self.feed = feed

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Raise KeyboardInterrupt when one arrived."""
        self.control.check()
        self.feed.end_before(batch)

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Raise KeyboardInterrupt when one arrived."""
        self.control.check()


class Monitor(keras.callbacks.Callback):
    """Fill a run while Keras trains.

    Keras calls it as a callback for epochs and phases; `WatchedCallbacks` calls
    `step_begins` and `test_step_begins`.

    Args:
        run: What is filled.
        engine: Reads the running metrics and sets the learning rate.
        view: Drawn after each sample; lets the messages of its controls through.
        control: Interrupts, stops, pauses and the learning rate asked for.
        feed: The training feed, whose error is raised between two steps.
        validation: The validation feed, or None.
        callbacks: The user's callbacks.
        usage: Returns what the accelerator last said of itself, or None.
    """

    def __init__(
        self,
        run: Run,
        engine: Engine,
        view: LiveView,
        control: Control,
        feed: Feed,
        validation: Feed | None = None,
        callbacks: tuple[Any, ...] = (),
        usage: Callable[[], Any] = lambda: None,
    ) -> None:
        super().__init__()
        self.record = run
        self.engine = engine
        self.view = view
        self.control = control
        self.feed = feed
        self.validation = validation
        self.sampler = Sampler(run, engine, feed.shapes)
        self.clock = StepClock(run, feed.waits, engine.step_takes_batches)
        self._user_callbacks = callbacks
        self._usage = usage
        self._epoch_start = 0
        self._next_look = 0.0
        self._next_sample = 0.0
        self._closed = True

    def on_train_begin(self, logs: Any = None) -> None:
        """Learn what the controls may do, and count compilations from here."""
        self.control.rate_lock = why_locked(self.model, self._user_callbacks)
        self.sampler.start(self.model)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Start an epoch."""
        self._obey()
        self.record.epoch = epoch + 1
        self.record.epoch_step = 0
        self._epoch_start = self.record.step
        self.sampler.start_epoch()
        self._closed = False
        if self.record.compile_seconds is not None:
            self.record.phase = "training"
            self.clock.restart(time.perf_counter(), self.record.step)

    def step_begins(self, batch: int) -> None:
        """Count the steps done; look at the controls twenty times a second and sample at most four times."""
        now = time.perf_counter()
        record, control = self.record, self.control
        record.epoch_step = batch
        record.step = self._epoch_start + batch
        if self.clock.takes_batches:
            self.clock.step_begins(now, record.step)
        if now >= self._next_look or control.interrupted.is_set() or control.stopping.is_set():
            self._look(now, batch)
        elif self.feed.error is not None:
            raise self.feed.error
        elif record.compile_seconds is None and batch:
            self._first_step_done(now)
        self.feed.end_before(batch)

    def test_step_begins(self, batch: int) -> None:
        """Look at the controls while it validates."""
        if self.validation is not None:
            self.validation.end_before(batch)
        now = time.perf_counter()
        if now < self._next_look and not self.control.interrupted.is_set():
            return
        self._next_look = now + LOOK_SECONDS
        self.view.listen()
        self._obey()
        if self.control.stopping.is_set():
            self.model.stop_evaluating = True
        self.view.update()

    def on_test_begin(self, logs: Any = None) -> None:
        """Close the epoch before validation resets the metrics."""
        self._close_epoch()
        self._obey()
        self.engine.settle(self.model)
        self.record.phase = "validating"
        self.view.update()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Keep the epoch's metrics, which Keras has read from the device already."""
        self._close_epoch()
        self.sampler.end_epoch(logs or {}, validated=self.validation is None or not self.validation.cut)
        now = time.perf_counter()
        if now >= self._next_look:
            self._next_look = now + LOOK_SECONDS
            self.view.listen()
        self._obey()
        self.view.update()

    def on_train_end(self, logs: Any = None) -> None:
        """Read the learning rate at the end."""
        self.sampler.read_rate(self.model)

    def _first_step_done(self, now: float) -> None:
        record = self.record
        record.compile_seconds = now - record.started
        record.phase = "training"
        self.clock.restart(now, record.step)

    def _look(self, now: float, batch: int) -> None:
        """Let messages through, do what they ask for, and sample when it is time."""
        self._next_look = now + LOOK_SECONDS
        if batch and self.record.compile_seconds is None:
            self._first_step_done(now)
        self.view.listen()
        self._obey()
        if batch and now >= self._next_sample and not self._too_early(batch):
            self._sample(now)
        else:
            self.view.update()

    def _obey(self) -> None:
        """Raise what is to end the fit; stop, pause and set the learning rate as asked."""
        control = self.control
        control.check()
        if self.feed.error is not None:
            raise self.feed.error
        if control.wanted_rate is not None:
            self._set_rate()
        if control.pausing.is_set() and not control.stopping.is_set():
            self._pause()
        if control.stopping.is_set():
            self.model.stop_training = True
            if self.validation is not None:
                # Figures of a part of the rows would pass for figures of all: the interceptor leaves them out.
                self.validation.cut = True

    def _set_rate(self) -> None:
        rate = self.control.take_rate()
        if rate is not None and not self.control.rate_lock:
            self.engine.set_learning_rate(self.model, rate)
            self.control.rate_was_set = True
            self.record.learning_rate.add(self.record.step, rate)

    def _pause(self) -> None:
        record, control = self.record, self.control
        began, phase = time.perf_counter(), record.phase
        self.clock.lap(began, record.step)
        self.clock.stop()
        record.phase = "paused"
        self.view.update(force=True)
        try:
            while control.pausing.is_set() and not control.stopping.is_set():
                time.sleep(PAUSE_SECONDS)
                control.check()
                self.view.listen()
                if control.wanted_rate is not None:
                    self._set_rate()
                self.view.update()
        finally:
            now = time.perf_counter()
            record.paused_seconds += now - began
            record.phase = phase
        if phase == "training":
            self.clock.restart(now, record.step)
            if self.clock.takes_batches:
                self.clock.step_begins(now, record.step)
        self.view.update(force=True)

    def _too_early(self, batch: int) -> bool:
        # Keras starts its means anew each epoch: the mean of one or two batches would show as a spike.
        return batch < FEWEST_BATCHES and (self.record.steps_per_epoch or 0) > 5 * FEWEST_BATCHES

    def _sample(self, now: float) -> None:
        self.clock.lap(now, self.record.step)
        self.sampler.sample(self.model)
        self.record.usage = self._usage()
        self.view.update()
        end = time.perf_counter()
        # The first reading also compiles the reading; a chart that then stood still would be worse than its cost.
        self._next_sample = end + min(max(SAMPLE_SECONDS, (end - now) / SAMPLE_SHARE), SLOWEST_SAMPLE_SECONDS)

    def _close_epoch(self) -> None:
        if self._closed:
            return
        self._closed = True
        record = self.record
        if self.model.stop_training:
            record.epoch_step += int(self.model.steps_per_execution)
        elif record.steps_per_epoch is not None:
            given = self.feed.batches_given - self._epoch_start
            record.epoch_step = min(record.steps_per_epoch, max(0, given)) if self.feed.once else record.steps_per_epoch
            if record.epoch_step < record.steps_per_epoch:
                warnings.warn(
                    f"The generator ended after {record.epoch_step} of {record.steps_per_epoch} steps of epoch {record.epoch}.",
                    stacklevel=2,
                )
        else:
            record.epoch_step = self.feed.batches_given
        record.step = self._epoch_start + record.epoch_step
        if self.clock.takes_batches:
            self.clock.step_begins(time.perf_counter(), record.step)
        now = time.perf_counter()
        if record.compile_seconds is None:
            record.compile_seconds = now - record.started
        self.clock.lap(now, record.step)
        self.clock.stop()
        self.sampler.count_compilations(self.model)
