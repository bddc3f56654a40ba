"""Several runs of one model from the same start: what is put back, what goes on, and what a preview leaves alone."""

from __future__ import annotations

from itertools import product
from typing import Any

import keras
import numpy as np
import pytest

from colab_tpu_magic.backends.variables import live_variables
from colab_tpu_magic.errors import DataError, ModelError, OptionError
from colab_tpu_magic.session import current_runtime, intercepting
from colab_tpu_magic.training.trials import MAX_TRIALS, OPTIMIZERS, Trials, TrialSettings

from .models import changed, dense, rows, with_state
from .test_controls import Hand

pytestmark = pytest.mark.table

SMALL: dict[str, Any] = {"epochs": 2, "batch_size": 64, "learning_rate": 0.01}


@pytest.fixture(autouse=True)
def look_at_every_step(monkeypatch):
    monkeypatch.setattr("colab_tpu_magic.training.callback.LOOK_SECONDS", 0.0)


def nothing(run, control):
    pass


def trials_of(model, data=None, presses=nothing, **fit_arguments):
    """Return trials with a hand on the controls where the dashboard would be."""
    x, y = rows(256) if data is None else data

    def train(options, on_run):
        entered = intercepting(options, on_run=on_run)
        entered.make_view = lambda run, verbose: Hand(run, presses)
        return entered

    return Trials(model, x, y, fit_arguments, current_runtime(), train)


def values_of(model):
    """Return every value of a training: weights, statistics, seeds, metrics and the optimizer's."""
    return [np.array(keras.ops.convert_to_numpy(variable.value)) for variable in live_variables(model)]


def assert_same(first, second):
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.keras_floor
def test_same_settings_twice_give_the_same_history_and_the_same_weights():
    x, y = rows(256)
    trials = trials_of(with_state(), (x, y), validation_data=(x, y))
    first = trials.train(TrialSettings(**SMALL))
    weights = trials.model.get_weights()
    second = trials.train(TrialSettings(**SMALL))
    assert first.status == second.status == "completed"
    assert first.history == second.history
    assert set(first.history) == {"loss", "accuracy", "val_loss", "val_accuracy"}
    assert_same(weights, trials.model.get_weights())


@pytest.mark.keras_floor
def test_as_compiled_after_another_optimizer_is_the_first_run_again():
    model = dense()
    own = model.optimizer
    trials = trials_of(model)
    first = trials.train(TrialSettings(**SMALL))
    other = trials.train(TrialSettings(**SMALL, optimizer="sgd"))
    assert isinstance(model.optimizer, keras.optimizers.SGD)
    assert int(own.iterations) == 0
    again = trials.train(TrialSettings(**SMALL))
    assert model.optimizer is own
    assert other.history != first.history
    assert again.history == first.history


@pytest.mark.only("jax")
def test_each_optimizer_of_the_form_trains():
    trials = trials_of(dense())
    for name in OPTIMIZERS:
        run = trials.train(TrialSettings(epochs=1, batch_size=128, learning_rate=0.001, optimizer=name))
        assert run.status == "completed"
        assert (name in run.title) == (name != "as compiled")


@pytest.mark.keras_floor
def test_proceeding_twice_is_one_long_run_and_the_iterations_go_on():
    trials = trials_of(with_state(), shuffle=False)
    trials.train(TrialSettings(**SMALL))
    assert int(trials.model.optimizer.iterations) == 8
    trained = trials.model.get_weights()
    seen = []
    trials._intercepting = watching(trials._intercepting, lambda: seen.append(trials.model.get_weights()))
    second = trials.train(TrialSettings(**SMALL, proceed=True))
    assert_same(seen[0], trained)
    assert int(trials.model.optimizer.iterations) == 16
    assert second.title.endswith("continued")
    assert second.history["loss"][-1] < trials.runs[0].history["loss"][-1]


def watching(intercepting, on_begin):
    def train(options, on_run):
        return intercepting(options, lambda run: (on_begin(), on_run(run)))

    return train


def test_proceeding_with_another_optimizer_keeps_the_weights_and_starts_its_moments_anew():
    trials = trials_of(dense())
    trials.train(TrialSettings(**SMALL))
    trained = trials.model.get_weights()
    seen = []
    trials._intercepting = watching(trials._intercepting, lambda: seen.append(trials.model.get_weights()))
    trials.train(TrialSettings(**SMALL, optimizer="sgd, momentum 0.9", proceed=True))
    assert_same(seen[0], trained)
    first = trials.model.optimizer
    assert int(first.iterations) == 8
    trials.train(TrialSettings(**SMALL, optimizer="sgd, momentum 0.9", proceed=True))
    assert trials.model.optimizer is first
    assert int(first.iterations) == 16


@pytest.mark.keras_floor
def test_a_half_trained_model_starts_each_run_where_it_was():
    x, y = rows(256)
    model = with_state()
    model.fit(x, y, epochs=1, batch_size=32, verbose=0)
    begun, iterations = values_of(model), int(model.optimizer.iterations)
    assert iterations == 8
    trials = trials_of(model, (x, y))
    first = trials.train(TrialSettings(**SMALL))
    assert int(model.optimizer.iterations) == iterations + 8
    second = trials.train(TrialSettings(**SMALL))
    assert int(model.optimizer.iterations) == iterations + 8
    assert first.history == second.history
    trials.start.restore()
    assert_same(begun, values_of(model))


@pytest.mark.keras_floor
def test_statistics_of_batch_normalization_and_seeds_of_dropout_are_put_back():
    model = with_state()
    trials = trials_of(model)
    begun = values_of(model)
    assert len(model.non_trainable_variables) == 3
    trials.train(TrialSettings(**SMALL))
    assert not any(np.array_equal(one, now) for one, now in zip(begun[4:7], values_of(model)[4:7], strict=True))
    trials.start.restore()
    assert_same(begun, values_of(model))


@pytest.mark.keras_floor
def test_a_preview_changes_nothing():
    model = dense()
    trials = trials_of(model)
    trials.train(TrialSettings(**SMALL))
    before, own = values_of(model), model.optimizer
    for optimizer, proceed in product(("as compiled", "lion"), (False, True)):
        prepared = trials.preview(TrialSettings(optimizer=optimizer, proceed=proceed, precision="bfloat16"))
        assert prepared.batch_size >= 32
        assert model.optimizer is own
        assert_same(before, values_of(model))
        assert {layer.dtype_policy.name for layer in model.layers} == {"float32"}
        assert len(trials.runs) == 1


def test_a_rate_set_by_hand_in_one_run_is_not_the_start_of_the_next():
    def press(run, control):
        if run.step == 1:
            control.wanted_rate = 0.25

    trials = trials_of(dense(), presses=press)
    auto = TrialSettings(epochs=1, batch_size=64)
    first = trials.preview(auto)
    run = trials.train(auto)
    assert run.learning_rate.values[-1] == 0.25
    # The rule had scaled the rate for twice the batch; the optimizer keeps its share, so that it may scale again.
    kept = pytest.approx(0.25 / 2**0.5)
    assert float(keras.ops.convert_to_numpy(trials.model.optimizer.learning_rate)) == kept
    assert trials.rate_of(auto, trials.preview(auto)) == trials.rate_of(auto, first)
    going_on = TrialSettings(epochs=1, batch_size=32, learning_rate="keep", proceed=True)
    assert trials.rate_of(going_on, trials.preview(going_on)) == kept
    assert float(keras.ops.convert_to_numpy(trials.model.optimizer.learning_rate)) == kept


def test_runs_are_named_by_their_settings_and_no_two_alike():
    trials = trials_of(dense())
    one = {"epochs": 1, "batch_size": 128, "learning_rate": 0.01}
    for name in ("", "", "mine"):
        trials.train(TrialSettings(**one, name=name))
    titles = [run.title for run in trials.runs]
    assert titles == ["batch 128, rate 0.01", "batch 128, rate 0.01 (2)", "mine"]
    trials.train(TrialSettings(**one, optimizer="adam", precision="bfloat16"))
    assert trials.runs[-1].title == "batch 128, rate 0.01, adam, bfloat16"


def test_the_last_ten_runs_are_kept(monkeypatch):
    assert MAX_TRIALS == 10
    monkeypatch.setattr("colab_tpu_magic.training.trials.MAX_TRIALS", 2)
    trials = trials_of(dense(), rows(64))
    runs = [trials.train(TrialSettings(epochs=1, batch_size=64, learning_rate=0.01)) for _ in range(3)]
    assert trials.runs == runs[-2:]


def test_a_generator_is_refused_with_one_message():
    def batches():
        while True:
            yield np.zeros((32, 20), "float32"), np.zeros((32,), "int32")

    with pytest.raises(ModelError, match=r"A generator can be read only once.*\nExpected: arrays, a tf.data.Dataset"):
        trials_of(dense(), (batches(), None), steps_per_epoch=4)


@pytest.mark.parametrize(
    ("settings", "type_next"),
    [
        ({"optimizer": "adamm"}, "optimizer='adam'"),
        ({"epochs": 0}, "--epochs 1"),
        ({"batch_size": -1}, "--batch-size auto"),
        ({"learning_rate": 0.0}, "--learning-rate auto"),
        ({"learning_rate": float("nan")}, "--learning-rate auto"),
        ({"precision": "float16"}, "--precision bfloat16"),
        ({"seed": -1}, "--seed 0"),
    ],
)
def test_settings_that_cannot_be_trained_with_say_what_to_type(settings, type_next):
    with pytest.raises(OptionError) as raised:
        TrialSettings(**settings)
    assert raised.value.type_next == type_next


def test_refused_settings_leave_the_model_and_the_runs_as_they_are():
    trials = trials_of(dense())
    trials.train(TrialSettings(**SMALL))
    before, own = values_of(trials.model), trials.model.optimizer
    with pytest.raises(OptionError, match=r"larger than the data, which has 256 rows.*\nExpected: .*\nType: "):
        trials.train(TrialSettings(batch_size=4096, optimizer="sgd"))
    assert trials.model.optimizer is own
    assert_same(before, values_of(trials.model))
    assert len(trials.runs) == 1


def test_a_validation_share_and_other_arguments_of_fit_pass():
    ended = []
    tell = keras.callbacks.LambdaCallback(on_train_end=lambda logs: ended.append(True))
    trials = trials_of(dense(), validation_split=0.25, callbacks=[tell])
    for _ in range(2):
        run = trials.train(TrialSettings(epochs=2, batch_size=64, learning_rate="keep"))
        assert len(run.history["val_loss"]) == 2
        assert run.steps_per_epoch == 3
    assert ended == [True, True]


def test_a_dataset_is_read_again_for_each_run():
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices(rows(128)).batch(32)
    trials = trials_of(dense(), (data, None))
    first, second = (trials.train(TrialSettings(epochs=1, batch_size="keep", learning_rate=0.01)) for _ in range(2))
    assert first.history == second.history


@pytest.mark.keras_floor
def test_a_stopped_run_is_kept_and_the_next_starts_at_the_beginning():
    stops = [True, False]

    def press(run, control):
        if stops[0] and run.step == 3:
            control.stopping.set()

    whole = trials_of(dense()).train(TrialSettings(**SMALL))
    trials = trials_of(dense(), presses=press)
    stopped = trials.train(TrialSettings(**SMALL))
    stops[0] = False
    second = trials.train(TrialSettings(**SMALL))
    assert (stopped.status, stopped.step) == ("stopped", 4)
    assert trials.runs == [stopped, second]
    assert second.history == whole.history


def test_a_failed_run_is_kept_and_its_error_is_the_callers():
    def fail(epoch, logs):
        raise OSError("disk full")

    trials = trials_of(dense(), callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=fail)])
    with pytest.raises(OSError, match="disk full"):
        trials.train(TrialSettings(**SMALL))
    assert [(run.status, run.error) for run in trials.runs] == [("failed", "OSError: disk full")]


def test_bfloat16_holds_for_its_run_only():
    trials = trials_of(dense())
    low = trials.train(TrialSettings(**SMALL, precision="bfloat16"))
    assert changed(low)["precision"] == ("float32", "bfloat16 arithmetic")
    assert low.title.endswith("bfloat16")
    full = trials.train(TrialSettings(**SMALL))
    assert "precision" not in changed(full)
    assert full.history["loss"] != low.history["loss"]
    assert full.history == trials_of(dense()).train(TrialSettings(**SMALL)).history


def test_a_model_without_targets_is_refused_at_once():
    with pytest.raises(DataError, match="no targets"):
        trials_of(dense(), (rows(64)[0], None))
