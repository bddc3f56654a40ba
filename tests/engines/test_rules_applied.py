"""Rules change what they say, for the length of the fit, and nothing when it fits already."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import colab_tpu_magic as tpu

from .models import changed, dense, rows, training


def test_batch_size_grows_with_the_data_and_the_replicas(runtime):
    x, y = rows(8000)
    model = dense()
    with training() as cell:
        model.fit(x, y, batch_size=32)
    run = cell.runs[0]
    expected = {1: 128, 2: 128, 8: 128}[runtime.replicas]
    assert run.global_batch_size == expected
    assert run.steps_per_epoch == 63
    assert run.step == 63


def test_learning_rate_is_scaled_during_the_fit_and_the_users_own_after_it():
    x, y = rows(8000)
    during = []

    class Looks(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            during.append(float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate)))

    model = dense(optimizer=keras.optimizers.Adam(0.001))
    with training() as cell:
        model.fit(x, y, batch_size=32, callbacks=[Looks()])
    assert during == [pytest.approx(0.002)]
    assert float(keras.ops.convert_to_numpy(model.optimizer.learning_rate)) == pytest.approx(0.001)
    assert changed(cell.runs[0])["learning-rate"] == ("0.001", "0.002 (× 2)")


def test_learning_rate_schedule_is_left_alone():
    x, y = rows(8000)
    schedule = keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9)
    model = dense(optimizer=keras.optimizers.Adam(schedule))
    with training() as cell:
        model.fit(x, y, batch_size=32)
    assert "learning-rate" not in changed(cell.runs[0])


def test_learning_rate_that_a_callback_lowers_stays_lowered():
    x, y = rows(8000)
    model = dense(optimizer=keras.optimizers.Adam(0.001))
    plateau = keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=0, min_delta=100.0)
    with training():
        model.fit(x, y, batch_size=32, epochs=3, callbacks=[plateau])
    assert float(keras.ops.convert_to_numpy(model.optimizer.learning_rate)) == pytest.approx(0.001 / 4)


def test_bfloat16_is_computed_in_for_the_fit_only():
    x, y = rows()
    model = dense()
    during = []

    class Looks(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            during.extend(layer.compute_dtype for layer in self.model.layers)

    with training(precision="bfloat16") as cell:
        history = model.fit(x, y, epochs=2, callbacks=[Looks()]).history
    assert during == ["bfloat16", "float32"]
    assert [layer.compute_dtype for layer in model.layers] == ["float32", "float32"]
    assert changed(cell.runs[0])["precision"] == ("float32", "bfloat16 arithmetic")
    assert history["loss"][1] < history["loss"][0]


def test_epochs_option_overrides_the_call():
    x, y = rows(64)
    with training(epochs=3) as cell:
        history = dense().fit(x, y, epochs=1)
    assert len(history.history["loss"]) == 3
    assert cell.runs[0].epochs == 3


def test_asked_for_steps_per_execution_divide_the_epoch():
    x, y = rows(640)
    model = dense()
    with training(steps_per_execution=4, batch_size="keep") as cell:
        model.fit(x, y, batch_size=64, epochs=2)
    assert changed(cell.runs[0])["steps-per-execution"] == ("1", "4, an epoch of 12 steps instead of 10")
    assert cell.runs[0].step == 24
    assert model.steps_per_execution == 1


@pytest.mark.only("tensorflow")
def test_tensorflow_sends_several_steps_at_once():
    x, y = rows(640)
    with training(batch_size="keep") as cell:
        dense().fit(x, y, batch_size=32)
    assert changed(cell.runs[0])["steps-per-execution"] == ("1", "5")


@pytest.mark.only("jax")
def test_jax_sends_up_to_four_steps_at_once_on_one_device(runtime):
    x, y = rows(40 * 32)
    with training(batch_size="keep") as cell:
        dense().fit(x, y, batch_size=32)
    assert changed(cell.runs[0]).get("steps-per-execution") == (("1", "4") if runtime.replicas == 1 else None)
    assert cell.runs[0].step == 40


def test_jit_compile_is_off_only_where_a_strategy_compiles(runtime):
    x, y = rows(64)
    model = dense()
    model.jit_compile = True
    during = []

    class Looks(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            during.append(self.model.jit_compile)

    with training() as cell:
        model.fit(x, y, callbacks=[Looks()])
    strategy = runtime.backend == "tensorflow" and runtime.replicas > 1
    assert during == [not strategy]
    assert ("jit-compile" in changed(cell.runs[0])) == strategy
    assert model.jit_compile is True


def test_nothing_but_the_pipeline_changes_when_all_fits():
    x, y = rows(8 * 128 * 50)
    with training(no=("scope",) if tpu.runtime.replicas == 1 else (), steps_per_execution="keep") as cell:
        dense().fit(x, y, batch_size=128 * tpu.runtime.replicas, epochs=1)
    assert set(changed(cell.runs[0])) <= {"scope", "input-pipeline"}


def test_run_holds_the_series_and_the_history():
    x, y = rows(2000)
    model = dense()
    with training() as cell:
        history = model.fit(x, y, epochs=3, validation_data=(x[:100], y[:100]))
    run = cell.runs[0]
    assert tpu.last_run is run
    assert run.history == {name: [float(v) for v in values] for name, values in history.history.items()}
    assert run.metrics["step"][-1] == run.step
    assert set(run.metrics) == {"step", "epoch", "loss", "accuracy", "val_loss", "val_accuracy"}
    assert run.validation["loss"].values == pytest.approx(run.history["val_loss"])
    assert run.compile_seconds > 0 and run.duration_seconds >= run.compile_seconds


def test_window_losses_average_to_the_epoch_loss():
    x, y = rows(3200)
    model = dense()
    with training(batch_size="keep") as cell:
        history = model.fit(x, y, batch_size=32, epochs=1)
    series = cell.runs[0].train["loss"]
    weights = np.diff([0, *series.steps])
    assert np.average(series.values, weights=weights) == pytest.approx(history.history["loss"][0], rel=1e-4)


def test_fit_function_returns_the_run():
    x, y = rows()
    run = tpu.fit(dense(), x, y, epochs=2, options=tpu.FitOptions(quiet=True))
    assert run.status == "completed"
    assert len(run.history["loss"]) == 2


def test_fit_function_refuses_what_is_not_a_keras_model():
    with pytest.raises(tpu.ModelError, match="list is not a Keras model"):
        tpu.fit([], *rows())
