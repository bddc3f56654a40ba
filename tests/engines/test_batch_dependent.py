"""Losses and metrics that are no means over rows get the batches that plain Keras would use."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from colab_tpu_magic.rewrite.row_means import are_row_means, shares_may_differ

from .models import dense, rows, training


def root_of_mean(y_true, y_pred):
    return keras.ops.sqrt(keras.ops.mean(y_pred[:, 0]))


def summing():
    model = dense()
    loss = keras.losses.SparseCategoricalCrossentropy(reduction="sum")
    model.compile("adam", loss, metrics=[root_of_mean])
    return model


@pytest.mark.only("jax")
@pytest.mark.parametrize("count", [5, 13, 45, 300])
def test_evaluation_equals_plain_keras_on_jax(count):
    x, y = rows(count)
    model = summing()
    with training():
        there = model.evaluate(x, y, verbose=0)
        other = model.evaluate(x, y, batch_size=50, verbose=0)
    np.testing.assert_allclose(there, model.evaluate(x, y, verbose=0), rtol=1e-5)
    np.testing.assert_allclose(other, model.evaluate(x, y, batch_size=50, verbose=0), rtol=1e-5)


@pytest.mark.only("jax")
def test_validation_equals_plain_keras_on_jax():
    x, y = rows(640)
    model = summing()
    with training(batch_size="keep"):
        history = model.fit(x, y, batch_size=64, validation_data=(x[:45], y[:45])).history
    there = [history["val_loss"][0], history["val_root_of_mean"][0]]
    np.testing.assert_allclose(there, model.evaluate(x[:45], y[:45], batch_size=64, verbose=0), rtol=1e-5)


@pytest.mark.only("tensorflow")
def test_tensorflow_replicas_are_named_as_the_cause_of_a_difference(runtime):
    x, y = rows(64)
    model = summing()
    if runtime.replicas == 1:
        with training():
            assert model.evaluate(x, y, verbose=0)
        return
    with pytest.warns(UserWarning) as told, training():
        for _ in range(3):
            model.evaluate(x, y, verbose=0)
    (said,) = [one for one in told if "may be no mean over rows" in str(one.message)]
    assert said.filename == "%%tpu_fit"
    assert str(said.message).startswith(f"loss {model.loss.name}, metric root_of_mean of {model.name!r} may be")


class Rows(keras.metrics.Metric):
    """Count the rows whose first column is large: sums and counts only."""

    def __init__(self, name="large"):
        super().__init__(name=name)
        self.large = self.add_weight(shape=(), initializer="zeros")
        self.rows = self.add_weight(shape=(), initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.large.assign_add(keras.ops.sum(keras.ops.cast(y_pred[:, 0] > 0.4, "float32")))
        self.rows.assign_add(keras.ops.cast(keras.ops.shape(y_pred)[0], "float32"))

    def result(self):
        return self.large / self.rows


class Largest(Rows):
    """Remember what no sum tells."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.large.assign(keras.ops.max(y_pred))
        self.rows.assign_add(keras.ops.sum(y_pred))


class OwnMean(keras.metrics.Mean):
    """Take the mean of what may be a column, or a mean already."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        return super().update_state(y_pred[:, 0])


class MeanOfMeans(Rows):
    """Add up what is a mean of the batch."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.large.assign_add(keras.ops.mean(y_pred))
        self.rows.assign_add(keras.ops.sum(y_pred))


def test_what_adds_up_sums_and_counts_is_known_to_be_exact():
    metrics = [
        Rows(),
        OwnMean(name="own"),
        Largest(name="largest"),
        MeanOfMeans(name="means"),
        root_of_mean,
        "accuracy",
    ]
    assert shares_may_differ(dense(metrics=metrics)) == [
        "metric own",
        "metric largest",
        "metric means",
        "metric root_of_mean",
    ]
    assert shares_may_differ(dense(metrics=[Rows()])) == []


def test_a_loss_of_ones_own_that_gives_a_number_a_row_is_known_to_be_exact():
    def each(y_true, y_pred):
        return keras.losses.sparse_categorical_crossentropy(y_true, y_pred)

    def worst(y_true, y_pred):
        return keras.ops.max(each(y_true, y_pred))

    for loss, found in ((each, []), (worst, ["loss worst"])):
        model = dense()
        model.compile("sgd", loss)
        assert shares_may_differ(model, rows(4)) == found
        assert shares_may_differ(model) == [f"loss {loss.__name__}"]


@pytest.mark.only("tensorflow")
def test_a_metric_that_adds_up_is_exact_on_tensorflow_replicas_and_no_warning_is_given(recwarn):
    x, y = rows(45)
    model = dense(metrics=[Rows()])
    plain = model.evaluate(x, y, verbose=0)
    with training():
        there = model.evaluate(x, y, verbose=0)
    np.testing.assert_allclose(there, plain, rtol=1e-5)
    assert [one for one in recwarn if "no mean over rows" in str(one.message)] == []


def test_ordinary_losses_and_metrics_are_means_over_rows():
    assert are_row_means(dense())
    assert are_row_means(dense(metrics=["accuracy", keras.metrics.AUC()]))
    assert not are_row_means(dense(metrics=[root_of_mean]))
    assert not are_row_means(summing())

    class Mine(keras.Sequential):
        def compute_loss(self, *args, **kwargs):
            return super().compute_loss(*args, **kwargs)

    assert not are_row_means(Mine([keras.Input((1,)), keras.layers.Dense(1)]))


def test_dataset_of_unknown_length_is_one_epoch_long():
    import tensorflow as tf

    x, y = rows(600)
    steps = []

    class Counts(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            steps.append(batch)

    dataset = tf.data.Dataset.from_tensor_slices((x, y)).filter(lambda a, b: b >= 0).batch(48)
    with training(batch_size="keep") as cell:
        history = dense().fit(dataset, epochs=3, callbacks=[Counts()]).history
    assert len(history["loss"]) == 3
    assert cell.runs[0].step == 3 * 13
    assert max(steps) <= 13


def test_generator_that_runs_dry_is_told_with_the_true_steps():
    x, y = rows(480)

    def short():
        for start in range(0, 240, 48):
            yield x[start : start + 48], y[start : start + 48]

    with pytest.warns(UserWarning, match="The generator ended after 5 of 10 steps of epoch 1"):
        with training(batch_size="keep", steps_per_execution="keep") as cell:
            dense().fit(short(), epochs=1, steps_per_epoch=10)
    assert cell.runs[0].step == 5
