"""The text of a train_step tells how its loss is made, and where it does not, that is said."""

from __future__ import annotations

import keras
import pytest
from keras import ops

from colab_tpu_magic.rewrite.train_step import read_train_step


class Base(keras.Model):
    """A model with a loss object and a loss function of its own."""

    def __init__(self):
        super().__init__()
        self.loss_object = keras.losses.MeanSquaredError()
        self.loss_function = keras.losses.mean_squared_error


class WithPlainMean(Base):
    def train_step(self, data):
        x, y = data
        loss = ops.mean(ops.square(y - self(x)))
        self.optimizer.apply([loss])
        return {"loss": loss}


class WithPlainMeanInAHelper(Base):
    def train_step(self, data):
        return {"loss": self.distance_of(*data)}

    def distance_of(self, x, y):
        return ops.mean(ops.sum(ops.square(y - self(x)), axis=(1, 2)) / 2.0)


class WithFunction(Base):
    def train_step(self, data):
        x, y = data
        return {"loss": ops.mean(self.loss_function(y, self(x)))}


class WithSum(Base):
    def train_step(self, data):
        x, y = data
        return {"loss": ops.sum(self.loss_function(y, self(x))) / 128}


class WithDivisionByReplicas(Base):
    def train_step(self, data):
        x, y = data
        return {"loss": ops.mean(self.loss_function(y, self(x))) / 8}


class ByHand(Base):
    def train_step(self, data):
        import tensorflow as tf

        x, y = data
        loss = ops.mean(self.loss_function(y, self(x)))
        return {"loss": loss / tf.distribute.get_strategy().num_replicas_in_sync}


class WithComputeLoss(Base):
    def train_step(self, data):
        x, y = data
        loss = self.compute_loss(x=x, y=y, y_pred=self(x))
        return {metric.name: metric.result() for metric in self.metrics} if loss is None else {}


class LogsComputeLoss(Base):
    def train_step(self, data):
        x, y = data
        loss = self.compute_loss(x=x, y=y, y_pred=self(x))
        return {"loss": loss}


class LogsALossObject(Base):
    def train_step(self, data):
        x, y = data
        d_loss = self.loss_object(y, self(x))
        self.tracker.update_state(d_loss)
        return {}


class Mixed(Base):
    def train_step(self, data):
        x, y = data
        loss = self.loss_object(y, self(x)) + 0.1 * ops.mean(self(x))
        self.optimizer.apply([loss])
        return {}


class CallsKeras(Base):
    def train_step(self, data):
        return super().train_step(data)


@pytest.mark.parametrize(
    ("model", "kind", "logged"),
    [
        (Base, "keras", ()),
        (CallsKeras, "keras", ()),
        (WithPlainMean, "mean", ()),
        (WithPlainMeanInAHelper, "mean", ()),
        (WithFunction, "mean", ()),
        (WithSum, "unclear", ()),
        (WithDivisionByReplicas, "unclear", ()),
        (ByHand, "scaled", ()),
        (WithComputeLoss, "scaled", ()),
        (LogsComputeLoss, "scaled", ("loss",)),
        (LogsALossObject, "scaled", ("d_loss",)),
        (Mixed, "mixed", ()),
    ],
)
def test_step_is_read(model, kind, logged):
    step = read_train_step(model(), replicas=8)
    assert (step.kind, step.logged) == (kind, logged)
    assert kind == "keras" or step.owner == model.__name__


def test_step_without_a_text_is_unclear():
    namespace = {"keras": keras}
    exec("class Typed(keras.Model):\n    def train_step(self, data):\n        return {}\n", namespace)
    assert read_train_step(namespace["Typed"](), replicas=2).kind == "unclear"


def test_step_of_a_class_above_is_read_there():
    class Below(WithPlainMean):
        pass

    step = read_train_step(Below(), replicas=2)
    assert (step.kind, step.owner) == ("mean", "WithPlainMean")
