"""More forms of models: layers, losses, metrics and steps of one's own, and what an optimizer can do."""

from __future__ import annotations

import tempfile
from typing import Any

import keras
from keras import layers, ops

from .more_models import classifier, compiled, form


class Scaled(layers.Layer):
    """A layer without get_config, holding a function that cannot be serialised."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def build(self, shape: Any) -> None:
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones")
        self.calls = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, inputs: Any) -> Any:
        self.calls.assign(self.calls + 1)
        return self.function(inputs * self.scale)


class Wandering(keras.metrics.Metric):
    """A metric of one's own with a state of its own."""

    def __init__(self, name: str = "wandering") -> None:
        super().__init__(name=name)
        self.total = self.add_variable((), "zeros", name="total")
        self.rows = self.add_variable((), "zeros", name="rows")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self.total.assign_add(ops.sum(y_pred[:, 0]))
        self.rows.assign_add(ops.cast(ops.shape(y_pred)[0], "float32"))

    def result(self) -> Any:
        return self.total / self.rows


class Focal(keras.losses.Loss):
    """A loss of one's own, one value a row."""

    def call(self, y_true: Any, y_pred: Any) -> Any:
        likely = ops.sum(ops.one_hot(ops.cast(ops.reshape(y_true, (-1,)), "int32"), 2) * y_pred, axis=-1)
        return -ops.square(1 - likely) * ops.log(likely + 1e-6)


class Subclassed(keras.Model):
    """A model of one's own, unbuilt until it sees data."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Scaled(lambda z: ops.relu(z))
        self.hidden = [layers.Dense(8, activation="relu"), layers.Dense(4)]
        self.out = layers.Dense(2, activation="softmax")

    def call(self, inputs: Any) -> Any:
        z = self.inner(inputs)
        for layer in self.hidden:
            z = layer(z)
        return self.out(z)

    def compute_loss(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None, training: bool = True) -> Any:
        return super().compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight) * 2.0


@form("subclassed; layer, loss, metric and compute_loss of one's own")
def _subclassed() -> keras.Model:
    return compiled(Subclassed(), loss=Focal(), metrics=[Wandering(), "accuracy"])


class Adding(layers.Layer):
    """A layer that adds a loss."""

    def call(self, inputs: Any) -> Any:
        self.add_loss(0.01 * ops.mean(ops.square(inputs)))
        return inputs


@form("add_loss, regularizers, a frozen layer")
def _add_loss() -> keras.Model:
    return classifier(layers.Dense(8, trainable=False), layers.Dense(8, kernel_regularizer="l2"), Adding())


@form("weight decay and averaged weights")
def _averaged() -> keras.Model:
    optimizer = keras.optimizers.AdamW(0.01, weight_decay=0.1, use_ema=True, ema_momentum=0.9, clipnorm=1.0)
    return classifier(layers.Dense(8, activation="relu"), optimizer=optimizer)


@form("averaged weights written over every two steps")
def _averaged_often() -> keras.Model:
    optimizer = keras.optimizers.SGD(0.05, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=2)
    return classifier(layers.Dense(8, activation="relu"), optimizer=optimizer)


@form("loss scaling and a learning rate schedule")
def _loss_scale() -> keras.Model:
    rate = keras.optimizers.schedules.ExponentialDecay(0.02, 2, 0.5)
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.RMSprop(rate), initial_scale=256.0)
    return classifier(layers.Dense(8, activation="relu"), optimizer=optimizer)


@form("gradient accumulation")
def _accumulation() -> keras.Model:
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9, gradient_accumulation_steps=3)
    return classifier(layers.Dense(8, activation="relu"), optimizer=optimizer)


@form("mixed precision")
def _mixed() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((12,)),
            layers.Dense(8, activation="relu", dtype="mixed_bfloat16"),
            layers.Dense(2, activation="softmax", dtype="float32"),
        ]
    )
    return compiled(model)


@form("loaded from a .keras file")
def _loaded() -> keras.Model:
    with tempfile.TemporaryDirectory() as folder:
        model = classifier(layers.Dense(8, activation="relu"))
        model.save(f"{folder}/model.keras")
        return keras.models.load_model(f"{folder}/model.keras")
