"""Callbacks are called as often, in the same order and with the same results as in plain Keras."""

from __future__ import annotations

import csv
import os

import keras
import numpy as np
import pytest

from .models import dense, distance, rows, training

ARGUMENTS = {"batch_size": 32, "shuffle": False}
KINDS = keras.callbacks


def both(fit_one):
    """Run the same fit under the runtime and in plain Keras; return both results.

    Args:
        fit_one: Takes a model, keyword arguments of fit and a name, and returns what is compared.
    """
    with training(batch_size="keep", learning_rate="keep"):
        ours = fit_one(dense(), dict(ARGUMENTS), "ours")
    model = dense()
    if keras.backend.backend() == "tensorflow":
        model.run_eagerly = True
    return ours, fit_one(model, {**ARGUMENTS, "verbose": 0}, "plain")


def test_callbacks_for_epochs_do_what_they_do_in_plain_keras(tmp_path):
    x, y = rows(96)
    noise = np.random.default_rng(5).integers(0, 2, 96)  # so that validation gets worse soon

    def fit_one(model, arguments, name):
        calls = []
        callbacks = [
            KINDS.EarlyStopping(monitor="val_loss", patience=2, restore_best_weights=True),
            KINDS.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=1, min_delta=0.0),
            KINDS.ModelCheckpoint(str(tmp_path / name / "{epoch:02d}.weights.h5"), save_weights_only=True),
            KINDS.ModelCheckpoint(str(tmp_path / name / "best.keras"), monitor="val_loss", save_best_only=True),
            KINDS.CSVLogger(str(tmp_path / f"{name}.csv")),
            KINDS.LambdaCallback(on_epoch_begin=lambda epoch, logs: calls.append(epoch)),
        ]
        (tmp_path / name).mkdir()
        model.optimizer.learning_rate = 0.05
        history = model.fit(x, y, epochs=8, validation_data=(x, noise), callbacks=callbacks, **arguments).history
        with open(tmp_path / f"{name}.csv") as lines:
            logged = list(csv.DictReader(lines))
        rate = float(keras.ops.convert_to_numpy(model.optimizer.learning_rate))
        best = keras.models.load_model(tmp_path / name / "best.keras").get_weights()[0]
        return model, history, calls, sorted(os.listdir(tmp_path / name)), logged, rate, best

    ours, plain = both(fit_one)
    assert distance(ours[0], plain[0]) < 5e-5
    assert 2 < len(ours[2]) < 8
    assert (ours[2], ours[3]) == (plain[2], plain[3])
    for name, values in plain[1].items():
        np.testing.assert_allclose(ours[1][name], values, rtol=1e-4, atol=1e-5, err_msg=name)
    assert [list(row) for row in ours[4]] == [list(row) for row in plain[4]]
    assert ours[5] == pytest.approx(plain[5])
    np.testing.assert_allclose(ours[6], plain[6], atol=5e-5)


def test_callbacks_that_count_batches_meet_every_one(tmp_path):
    x, y = rows(320)

    def fit_one(model, arguments, name):
        (tmp_path / name).mkdir()
        told = []
        callbacks = [
            KINDS.ModelCheckpoint(
                str(tmp_path / name / "{epoch}-{batch}.weights.h5"), save_freq=4, save_weights_only=True
            ),
            KINDS.LambdaCallback(on_train_batch_end=lambda batch, logs: told.append((batch, sorted(logs)))),
        ]
        model.fit(x, y, epochs=2, callbacks=callbacks, **arguments)
        model.load_weights(tmp_path / name / "1-8.weights.h5")
        return told, sorted(os.listdir(tmp_path / name)), model

    ours, plain = both(fit_one)
    assert [batch for batch, _ in ours[0]] == list(range(10)) * 2
    assert ours[:2] == plain[:2]
    assert distance(ours[2], plain[2]) < 5e-5


@pytest.mark.keras_floor
def test_weights_are_read_and_written_in_the_middle_of_an_epoch():
    x, y = rows(96)

    class Clips(KINDS.Callback):
        """Reads through self.model, as Keras documents."""

        def on_train_batch_begin(self, batch, logs=None):
            kernel = self.model.layers[0].kernel
            kernel.assign(keras.ops.clip(kernel, -0.1, 0.1))

    def fit_one(model, arguments, name):
        seen = []

        def look(batch, logs):
            if name == "plain" and keras.backend.backend() == "jax":
                model.jax_state_sync()  # plain Keras asks for it, or the weights are gone
            seen.append(float(np.abs(model.layers[0].get_weights()[0]).max()))
            if batch == 1:
                model.layers[1].bias.assign([0.5, -0.5])

        with_name = [Clips(), KINDS.LambdaCallback(on_train_batch_end=look)]
        model.fit(x, y, epochs=2, callbacks=with_name, **arguments)
        return model, seen

    (ours, seen), (plain, expected) = both(fit_one)
    np.testing.assert_allclose(seen, expected, atol=5e-5)
    assert len(set(seen)) == 6 and max(seen) < 0.1 + 0.02
    assert distance(ours, plain) < 5e-5


def test_backup_takes_a_fit_up_where_it_was_cut_off(tmp_path):
    x, y = rows(96)

    class Fails(KINDS.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 2:
                raise RuntimeError("cut off")

    def backup():
        return KINDS.BackupAndRestore(str(tmp_path / "backup"))

    whole, first, second = dense(), dense(), dense()
    with training(batch_size="keep", learning_rate="keep"):
        with pytest.raises(RuntimeError, match="cut off"):
            first.fit(x, y, epochs=4, callbacks=[backup(), Fails()], **ARGUMENTS)
        history = second.fit(x, y, epochs=4, callbacks=[backup()], **ARGUMENTS)
        whole.fit(x, y, epochs=4, **ARGUMENTS)
    assert history.epoch == [2, 3]
    assert distance(second, whole) < 5e-5
    assert not (tmp_path / "backup").exists()


@pytest.mark.only("tensorflow")
def test_tensorboard_writes_each_batch_and_histograms(tmp_path):
    pytest.importorskip("tensorboard")
    import tensorflow as tf

    x, y = rows(96)
    board = KINDS.TensorBoard(str(tmp_path), update_freq="batch", histogram_freq=1, write_graph=False)
    with training(batch_size="keep"):
        dense().fit(x, y, epochs=2, callbacks=[board], **ARGUMENTS)
    tags: dict[str, list[int]] = {}
    for file in tmp_path.rglob("events.*"):
        for event in tf.compat.v1.train.summary_iterator(str(file)):
            for value in event.summary.value:
                tags.setdefault(value.tag, []).append(event.step)
    assert len(tags["batch_loss"]) == 6 and tags["epoch_loss"] == [0, 1]
    assert any("histogram" in tag or "kernel" in tag for tag in tags)


def test_scheduler_sets_the_rate_and_the_run_says_that_it_was_not_scaled():
    x, y = rows(3200)
    rates = []
    model = dense()
    scheduler = KINDS.LearningRateScheduler(lambda epoch: 0.01 / (epoch + 1))
    look = KINDS.LambdaCallback(
        on_epoch_end=lambda epoch, logs: rates.append(float(keras.ops.convert_to_numpy(model.optimizer.learning_rate)))
    )
    with training() as cell:
        model.fit(x, y, epochs=2, callbacks=[scheduler, look], batch_size=16)
    assert rates == pytest.approx([0.01, 0.005])
    (finding,) = [one for one in cell.runs[0].traps if one.trap == "rate-set-by-callback"]
    assert "the batch grew 4 times" in finding.message
