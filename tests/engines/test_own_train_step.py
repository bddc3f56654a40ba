"""A train_step of one's own trains on replicas as on one device, or a finding says what to write."""

from __future__ import annotations

import warnings

import keras
import numpy as np
import pytest
from keras import ops

from .models import changed, distance, training
from .more_models import data_for

ARGUMENTS = {"batch_size": 32, "epochs": 2, "shuffle": False}


class TensorFlowStep(keras.Model):
    """The step that tutorials show: a plain mean, two optimizers, a metric of its own."""

    def __init__(self):
        super().__init__()
        self.first = keras.layers.Dense(8, activation="relu")
        self.second = keras.layers.Dense(2, activation="softmax")
        self.tracker = keras.metrics.Mean(name="loss")
        self.slow = keras.optimizers.SGD(0.02)

    def call(self, inputs):
        return self.second(self.first(inputs))

    @property
    def metrics(self):
        return [self.tracker]

    def train_step(self, data):
        import tensorflow as tf

        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, self(x, training=True)))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.slow.apply_gradients(zip(gradients[:2], self.first.trainable_variables, strict=True))
        self.optimizer.apply_gradients(zip(gradients[2:], self.second.trainable_variables, strict=True))
        self.tracker.update_state(loss)
        return {"loss": self.tracker.result()}


class LoggedStep(TensorFlowStep):
    """The same with Keras' loss, logged as it is."""

    def train_step(self, data):
        import tensorflow as tf

        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        self.tracker.update_state(loss)
        return {"loss": self.tracker.result()}


class JaxStep(keras.Model):
    """A stateless step, as Keras documents it for JAX."""

    def train_step(self, state, data):
        import jax

        trainable, frozen, optimizer, metrics = state
        x, y = data

        def loss_of(weights):
            y_pred, changed = self.stateless_call(weights, frozen, x, training=True)
            return ops.mean(keras.losses.sparse_categorical_crossentropy(y, y_pred)), changed

        (loss, frozen), gradients = jax.value_and_grad(loss_of, has_aux=True)(trainable)
        trainable, optimizer = self.optimizer.stateless_apply(optimizer, gradients, trainable)
        return {"loss": loss}, (trainable, frozen, optimizer, metrics)


def both(make, **options):
    """Return our model, the plain one, our run and our history, and the plain history."""
    x, y = data_for("vector")
    models = []
    for _ in range(2):
        keras.utils.set_random_seed(7)
        models.append(make())
    ours, theirs = models
    with training(batch_size="keep", learning_rate="keep", **options) as cell:
        history = ours.fit(x, y, **ARGUMENTS).history
    if keras.backend.backend() == "tensorflow":
        theirs.run_eagerly = True
    return ours, theirs, cell.runs[0], history, theirs.fit(x, y, verbose=0, **ARGUMENTS).history


def compiled(kind):
    model = kind()
    model.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy")
    model(np.zeros((1, 12), "float32"))
    model.slow.build(model.first.trainable_variables)
    model.optimizer.build(model.second.trainable_variables if kind is TensorFlowStep else model.trainable_variables)
    return model


@pytest.mark.keras_floor
@pytest.mark.only("tensorflow")
def test_plain_mean_trains_with_the_rate_it_was_given(runtime):
    ours, theirs, run, history, expected = both(lambda: compiled(TensorFlowStep))
    assert distance(ours, theirs) < 2e-6
    np.testing.assert_allclose(history["loss"], expected["loss"], atol=2e-6)
    several = runtime.replicas > 1
    assert ("loss-scaling" in changed(run)) == several
    if several:
        assert changed(run)["loss-scaling"][1] == f"gradients ÷ {runtime.replicas}, in the optimizer"
    assert "apply" not in vars(ours.optimizer) and "apply" not in vars(ours.slow)


@pytest.mark.only("tensorflow")
def test_a_step_that_leaves_the_loss_tracker_alone_shows_the_loss_it_returns(runtime):
    import tensorflow as tf

    class Returned(keras.Sequential):
        def train_step(self, data):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(mean_of_all(data[1], self(data[0], training=True)))
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return {"loss": loss}

    _, _, run, history, _ = both(lambda: with_loss(None, Returned))
    assert run.nan_step is None and run.train["loss"].values[-1] == pytest.approx(history["loss"][-1])


@pytest.mark.only("tensorflow")
def test_plain_mean_without_the_rule_is_named(runtime):
    if runtime.replicas == 1:
        return
    ours, theirs, run, _, _ = both(lambda: compiled(TensorFlowStep), no=("loss-scaling",))
    assert distance(ours, theirs) > 1e-3
    (finding,) = [one for one in run.traps if one.trap == "custom-train-step"]
    assert f"trains with {runtime.replicas} times the learning rate" in finding.message


@pytest.mark.only("tensorflow")
def test_loss_that_is_logged_too_small_is_named_and_trained_right(runtime):
    ours, theirs, run, history, expected = both(lambda: compiled(LoggedStep))
    assert distance(ours, theirs) < 2e-6
    np.testing.assert_allclose(np.array(history["loss"]) * runtime.replicas, expected["loss"], atol=1e-5)
    named = [one.message for one in run.traps if one.trap == "custom-train-step"]
    assert len(named) == (runtime.replicas > 1)
    assert all(f"1/{runtime.replicas} of the loss" in message for message in named)


@pytest.mark.keras_floor
@pytest.mark.only("jax")
def test_stateless_step_trains_as_on_one_device():
    def make():
        inputs = keras.Input((12,))
        model = JaxStep(inputs, keras.layers.Dense(2, activation="softmax")(inputs))
        model.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy")
        return model

    ours, theirs, run, history, expected = both(make)
    assert distance(ours, theirs) < 2e-6
    np.testing.assert_allclose(history["loss"], expected["loss"], atol=2e-6)
    assert run.traps == ()


def mean_of_all(y_true, y_pred):
    return ops.mean(keras.losses.sparse_categorical_crossentropy(y_true, y_pred))


def a_value_each(y_true, y_pred):
    return keras.losses.sparse_categorical_crossentropy(y_true, y_pred)


class MeanLoss(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return mean_of_all(y_true, y_pred)


def sum_of_all(y_true, y_pred):
    return ops.sum(keras.losses.sparse_categorical_crossentropy(y_true, y_pred)) / 50


class OwnLoss(keras.Sequential):
    """A model whose compute_loss takes a mean by itself."""

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return ops.mean(keras.losses.sparse_categorical_crossentropy(y, y_pred))


class Penalised(OwnLoss):
    """The same with a penalty on the weights."""

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        penalty = 0.01 * ops.sum(ops.square(self.trainable_variables[0]))
        return mean_of_all(y, y_pred) + penalty


class Summed(OwnLoss):
    """A loss that is a sum over the rows."""

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return sum_of_all(y, y_pred)


def with_loss(loss, kind=keras.Sequential):
    model = kind([keras.Input((12,)), keras.layers.Dense(2, activation="softmax")])
    model.compile(keras.optimizers.SGD(0.1), loss)
    return model


@pytest.mark.keras_floor
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: with_loss(mean_of_all), "mean_of_all: one number for a replica's rows"),
        (lambda: with_loss(MeanLoss()), "mean_loss: one number for a replica's rows"),
        (lambda: with_loss(a_value_each), None),
        (lambda: with_loss(sum_of_all), None),
        (lambda: with_loss(None, Penalised), "a mean over one replica's rows, of compute_loss"),
        (lambda: with_loss(None, Summed), None),
        (lambda: with_loss(None, OwnLoss), "a mean over one replica's rows, of compute_loss"),
    ],
)
def test_a_loss_of_one_number_trains_and_is_shown_as_on_one_device(runtime, make, said):
    ours, theirs, run, history, expected = both(make)
    assert distance(ours, theirs) < 2e-6
    np.testing.assert_allclose(history["loss"], expected["loss"], atol=2e-6)
    several = runtime.backend == "tensorflow" and runtime.replicas > 1
    assert changed(run).get("loss-scaling", (None,))[0] == (said if several else None)
    x, y = data_for("vector")
    with training(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A loss or metric of this model")
        there = ours.evaluate(x, y, batch_size=len(x), verbose=0)
    assert there == pytest.approx(ours.evaluate(x, y, batch_size=len(x), verbose=0), rel=1e-5)
    assert "compute_loss" not in vars(ours)


@pytest.mark.only("tensorflow")
def test_a_compute_loss_that_is_neither_a_mean_nor_a_sum_is_named(runtime):
    class Both(OwnLoss):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            each = keras.losses.sparse_categorical_crossentropy(y, y_pred)
            return ops.mean(each) + ops.sum(each)

    _, _, run, _, _ = both(lambda: with_loss(None, Both))
    found = [one.message for one in run.traps if one.trap == "custom-train-step"]
    assert [message.split(" makes")[0] for message in found] == ["Both.compute_loss"] * (runtime.replicas > 1)
