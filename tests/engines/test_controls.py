"""What the controls of a running fit do: stop, pause, learning rate, on the step after the click."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import colab_tpu_magic as tpu
from colab_tpu_magic.training.findings import findings

from .models import dense, rows, training


class Hand:
    """Stand where the dashboard stands, and press its buttons at chosen steps.

    Args:
        run: The run that is shown.
        presses: Called with the run and its control at every look.
    """

    def __init__(self, run: Any, presses: Callable[[Any, Any], None]) -> None:
        self.run = run
        self.presses = presses

    def show(self, control):
        self.control = control

    def listen(self):
        self.presses(self.run, self.control)

    def update(self, force=False):
        pass

    def finish(self):
        pass


@pytest.fixture(autouse=True)
def look_at_every_step(monkeypatch):
    monkeypatch.setattr("colab_tpu_magic.training.callback.LOOK_SECONDS", 0.0)


def fit_with(presses, model, *args, options=None, **kwargs):
    with training(**(options or {})) as cell:
        cell.make_view = lambda run, verbose: Hand(run, presses)
        model.fit(*args, **kwargs)
    return cell.runs[0]


class Slope(keras.layers.Layer):
    """One weight whose gradient is 1 whatever comes in, so that SGD lowers it by the learning rate each step."""

    def build(self, shape):
        self.w = self.add_weight(shape=(), initializer="zeros", name="w")

    def call(self, x):
        return self.w + 0.0 * keras.ops.sum(x, axis=-1, keepdims=True)


def slope(learning_rate):
    model = keras.Sequential([keras.Input((3,)), Slope()])
    model.compile(keras.optimizers.SGD(learning_rate), loss=lambda y, prediction: keras.ops.mean(prediction, axis=-1))
    return model


def weight(model):
    return float(keras.ops.convert_to_numpy(model.layers[-1].w))


DATA = np.zeros((160, 3), "float32"), np.zeros((160, 1), "float32")
KEEP = {"batch_size": "keep", "learning_rate": "keep", "steps_per_execution": 1}


@pytest.mark.keras_floor
def test_stop_ends_the_fit_after_the_step_with_the_weights_of_that_moment():
    def press(run, control):
        if run.step == 7:
            control.stopping.set()

    model = slope(1.0)
    run = fit_with(press, model, *DATA, options=KEEP, batch_size=16, epochs=50)
    assert run.status == "stopped"
    assert (run.epoch, run.step) == (1, 8)
    assert weight(model) == pytest.approx(-8.0)
    assert int(model.optimizer.iterations) == 8
    assert model.predict(DATA[0][:3], verbose=0).shape == (3, 1)


@pytest.mark.keras_floor
def test_stop_in_the_validation_leaves_no_half_made_figures():
    def press(run, control):
        if run.phase == "validating" and run.epoch == 2:
            control.stopping.set()

    x, y = rows(640)
    model = dense()
    seen = []
    asks = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(logs["val_loss"]))
    run = fit_with(press, model, x, y, epochs=5, validation_data=(x, y), callbacks=[asks], options=KEEP)
    assert run.status == "stopped"
    assert len(run.history["loss"]) == 2
    # Callbacks find the name, and the history has a value for each epoch; it is no figure.
    assert np.isnan(run.history["val_loss"][1]) and np.isnan(seen[1])
    assert not np.isnan(run.history["val_loss"][0])
    assert run.validation["loss"].steps == [20]


@pytest.mark.parametrize("at", [0, pytest.param(3, marks=pytest.mark.keras_floor), 13])
def test_the_next_step_uses_the_new_learning_rate(at):
    def press(run, control):
        if run.step == at and run.learning_rate.values[-1] == 1.0:
            control.wanted_rate = 0.5

    model = slope(1.0)
    run = fit_with(press, model, *DATA, options=KEEP, batch_size=16, epochs=2)
    assert weight(model) == pytest.approx(-(at + 0.5 * (20 - at)))
    assert float(keras.ops.convert_to_numpy(model.optimizer.learning_rate)) == 0.5
    assert (run.learning_rate.values[0], run.learning_rate.values[-1]) == (1.0, 0.5)


@pytest.mark.keras_floor
def test_the_loss_follows_the_new_learning_rate_and_adam_keeps_its_moments():
    def press(run, control):
        if run.step == 10:
            control.wanted_rate = 1e-12

    x, y = rows(640)
    model = dense()
    run = fit_with(press, model, x, y, batch_size=32, epochs=1, options=KEEP)
    ten = dense()
    ten.fit(x[:320], y[:320], batch_size=32, epochs=1, shuffle=False, verbose=0)
    still = dense()
    run = fit_with(press, still, x, y, batch_size=32, epochs=1, shuffle=False, options=KEEP)
    assert run.status == "completed"
    for ours, plain in zip(still.get_weights(), ten.get_weights(), strict=True):
        np.testing.assert_allclose(ours, plain, atol=2e-5)
    assert int(still.optimizer.iterations) == 20


def test_a_schedule_locks_the_learning_rate_and_says_why():
    locks = []

    def press(run, control):
        locks.append(control.rate_lock)
        control.wanted_rate = 9.0

    schedule = keras.optimizers.schedules.ExponentialDecay(1.0, decay_steps=10, decay_rate=0.5)
    model = slope(schedule)
    run = fit_with(press, model, *DATA, options=KEEP, batch_size=16, epochs=2)
    assert locks[-1] == "the schedule ExponentialDecay sets it"
    assert run.learning_rate.values[0] == 1.0
    assert run.learning_rate.values[-1] == pytest.approx(0.25)
    assert weight(model) == pytest.approx(-sum(0.5 ** (i / 10) for i in range(20)), rel=1e-4)


def test_a_callback_that_sets_the_rate_each_epoch_locks_it():
    locks = []
    model = slope(1.0)
    by_hand = keras.callbacks.LearningRateScheduler(lambda epoch, rate: 0.5)
    fit_with(
        lambda run, control: locks.append(control.rate_lock), model, *DATA, options=KEEP, callbacks=[by_hand], epochs=1
    )
    assert locks[-1] == "the callback LearningRateScheduler sets it"


def test_pause_does_no_step_until_resumed():
    seen = []

    def press(run, control):
        if run.step == 5 and not seen:
            control.pausing.set()
        if control.pausing.is_set():
            seen.append((run.phase, run.step))
            if len(seen) == 4:
                control.pausing.clear()

    model = slope(1.0)
    run = fit_with(press, model, *DATA, options=KEEP, batch_size=16, epochs=2)
    assert seen[1:] == [("paused", 5)] * 3
    assert run.status == "completed"
    assert weight(model) == pytest.approx(-20.0)
    assert run.paused_seconds > 0


def test_stop_ends_a_pause():
    def press(run, control):
        if run.step == 5:
            control.pausing.set()
        if run.phase == "paused":
            control.stopping.set()

    model = slope(1.0)
    run = fit_with(press, model, *DATA, options=KEEP, batch_size=16, epochs=2)
    assert run.status == "stopped"
    assert run.step == 6


def test_a_rate_that_was_set_by_hand_stays_with_the_optimizer():
    def press(run, control):
        if run.step == 1:
            control.wanted_rate = 0.25

    model = slope(1.0)
    options = {"batch_size": "keep", "learning_rate": 0.5, "steps_per_execution": 1}
    fit_with(press, model, *DATA, options=options, batch_size=16)
    assert float(keras.ops.convert_to_numpy(model.optimizer.learning_rate)) == 0.25


@pytest.mark.only("jax")
def test_batches_of_many_shapes_are_counted_and_named():
    def lengths():
        for i in range(12):
            yield np.ones((16, 4 + i % 4, 3), "float32"), np.ones((16, 1), "float32")

    model = keras.Sequential([keras.Input((None, 3)), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with training(no=("static-shapes",), batch_size="keep") as cell:
        model.fit(lengths(), epochs=1)
    run = cell.runs[0]
    assert run.batch_shapes == 4
    assert run.compilations >= 4
    assert run.compiling_seconds > 0
    assert any("compiled" in sentence and "4 shapes" in sentence for sentence in findings(run))


@pytest.mark.only("jax")
def test_static_shapes_compile_the_step_at_most_twice():
    x, y = rows(1003)
    with training() as cell:
        dense().fit(x, y, epochs=2)
    # The second time for the layout of what the first step gave back.
    assert cell.runs[0].compilations in (1, 2)
    assert cell.runs[0].batch_shapes == 1
    assert findings(cell.runs[0]) == []


def test_the_running_mean_and_the_last_steps_are_both_kept():
    x, y = rows(640)
    with training() as cell:
        dense().fit(x, y, epochs=2)
    run = cell.runs[0]
    assert run.running["loss"].values[-1] == pytest.approx(run.history["loss"][-1], rel=1e-5)
    assert run.running["loss"].steps == run.train["loss"].steps


def test_time_is_split_between_data_and_computing():
    x, y = rows(640)
    with training() as cell:
        dense().fit(x, y, epochs=2)
    run = cell.runs[0]
    assert run.timed_steps > 0
    assert 0 <= run.data_wait_seconds <= run.train_seconds
    assert run.step_seconds == run.train_seconds / run.timed_steps


def test_a_loss_that_is_no_number_is_noted_with_its_step():
    x, y = rows(320)
    x[:] = np.nan
    run = tpu.fit(dense(), x, y, epochs=1, verbose=0)
    assert run.nan_step is not None
    assert findings(run)[0].startswith("The loss is not a number since step")


def test_a_rate_set_by_hand_is_where_the_next_fit_begins():
    def press(run, control):
        if run.step == 1:
            control.wanted_rate = 0.25

    x, y = np.zeros((16_000, 3), "float32"), np.zeros((16_000, 1), "float32")
    model = slope(0.01)
    one_step = {"steps_per_execution": 1}
    first = fit_with(press, model, x, y, options=one_step)
    assert first.learning_rate.values[0] > 0.01
    second = fit_with(lambda run, control: None, model, x, y, options=one_step)
    assert second.learning_rate.values[0] == pytest.approx(0.25)
    assert second.learning_rate.values[-1] == pytest.approx(0.25)


def test_metrics_with_several_values_or_a_result_of_their_own_are_shown_as_they_are():
    x, y = rows(640)
    model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[keras.metrics.RootMeanSquaredError(name="rmse")])
    several = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: logs.update(parts=[1.0, 2.0], phase="warm")
    )
    with training() as cell:
        model.fit(x, y, epochs=2, callbacks=[several])
    run = cell.runs[0]
    assert run.train["rmse"].values[-1] == pytest.approx(run.history["rmse"][-1], rel=1e-4)
    assert (run.history["parts"], run.history["phase"]) == ([[1.0, 2.0]] * 2, ["warm"] * 2)
    assert "parts" not in run.summary()


def test_a_function_as_learning_rate_trains_and_is_locked():
    locks = []
    x, y = np.zeros((16_000, 3), "float32"), np.zeros((16_000, 1), "float32")
    fit_with(lambda run, control: locks.append(control.rate_lock), slope(lambda: 0.5), x, y)
    assert locks[-1] == "the optimizer does not keep it as a number"


def test_a_patch_of_keras_is_there_again_after_the_cell(monkeypatch):
    own = keras.Model.fit

    def patched(self, *args, **kwargs):
        return own(self, *args, **kwargs)

    patched.__wrapped__ = own
    keras.Model.fit = patched
    try:
        with training():
            pass
        assert keras.Model.fit is patched
    finally:
        del keras.Model.fit
    assert keras.Model.fit is own


def test_a_cell_that_is_interrupted_while_it_seeds_leaves_the_next_one_free(monkeypatch):
    def interrupted(seed):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(keras.utils, "set_random_seed", interrupted)
        with pytest.raises(KeyboardInterrupt), training(seed=1):
            pass
    with training():
        pass
