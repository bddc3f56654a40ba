"""A check tells data, model and loss that do not match, and is silent for every form of model that trains."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import layers

import colab_tpu_magic as tpu

from .models import rows
from .more_models import MODELS, data_for

pytestmark = pytest.mark.table

TRAP = "does-not-fit-together"
SPARSE = "sparse_categorical_crossentropy"
IMAGES, LABELS = np.zeros((64, 28, 28, 1), "float32"), np.zeros(64, "int32")


def images(*last, loss=SPARSE, shape=(28, 28, 1), **compile_arguments):
    model = keras.Sequential([keras.Input(shape), *last])
    model.compile("adam", loss, **compile_arguments)
    return model


def classes(units=10):
    return (layers.Flatten(), layers.Dense(units, activation="softmax"))


def told(model, x, y=None):
    return [one for one in tpu.check(model, x, y).findings if one.trap == TRAP]


@pytest.mark.parametrize(
    ("model", "y", "says", "type_next"),
    [
        (
            lambda: images(layers.Dense(10, activation="softmax")),
            LABELS,
            f"For each row the model gives (28, 28, 10) and y has one number; {SPARSE} expects one class number",
            "keras.layers.Flatten(),  # before the last Dense layer",
        ),
        (
            lambda: images(*classes(), shape=(32, 32, 1)),
            LABELS,
            "x has rows of shape (28, 28, 1), and the model takes (32, 32, 1): ",
            "keras.Input((28, 28, 1))",
        ),
        (
            lambda: images(layers.Flatten(), layers.Dense(2), loss="mse"),
            np.zeros((64, 3), "float32"),
            "For each row the model gives (2,) and y has (3,); mse expects both of the same shape: ",
            "keras.layers.Dense(3, ...)",
        ),
        (
            lambda: images(*classes(), loss="sparse_categorical_crossentrop"),
            LABELS,
            "There is no loss 'sparse_categorical_crossentrop'.",
            'loss="sparse_categorical_crossentropy"',
        ),
        (
            lambda: images(*classes(), metrics=["acuracy"]),
            LABELS,
            "There is no metric 'acuracy'.",
            'metrics=["accuracy"]',
        ),
    ],
)
@pytest.mark.keras_floor
def test_what_cannot_train_is_an_error_with_both_shapes_and_the_line_to_type(model, y, says, type_next):
    (finding,) = told(model(), IMAGES, y)
    assert finding.severity == "error" and finding.message.startswith(says)
    assert finding.type_next == type_next
    assert "Exception encountered" not in finding.message and "\n" not in finding.message


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_any_form_that_trains_is_not_named_and_not_changed(name):
    make, kind = MODELS[name]
    model = make()
    built, before = model.built, [keras.ops.convert_to_numpy(one) for one in model.variables]
    assert told(model, *data_for(kind)) == []
    assert model.built == built
    after = [keras.ops.convert_to_numpy(one) for one in model.variables]
    assert all(np.array_equal(one, two) for one, two in zip(before, after, strict=True))


def test_ranks_that_keras_adapts_and_forms_that_are_not_certain_pass():
    assert told(images(*classes(), shape=(28, 28)), IMAGES, LABELS) == []
    one = images(layers.Flatten(), layers.Dense(1, activation="sigmoid"), loss="binary_crossentropy")
    assert told(one, IMAGES, LABELS) == []
    own = images(layers.Flatten(), layers.Dense(2), loss=lambda y, given: given[:, :1] / 0 + y.nothing)
    assert told(own, IMAGES, LABELS) == []
    assert told(images(*classes(), metrics=["acc", "mae", keras.metrics.AUC()]), IMAGES, LABELS) == []


def test_a_model_that_keras_built_from_its_first_batch_is_not_bound_to_its_size():
    x, y = rows(48)
    model = keras.Sequential([layers.Dense(2, activation="softmax")])
    model.compile("adam", SPARSE)
    model.fit(x[:16], y[:16], batch_size=16, verbose=0)
    assert told(model, x, y) == []
    assert len(told(model, x[:, :7], y)) == 1


def test_a_dataset_is_compared_by_the_lengths_that_it_tells():
    import tensorflow as tf

    flat = images(layers.Dense(10, activation="softmax"))
    data = tf.data.Dataset.from_tensor_slices((IMAGES, LABELS))
    assert len(told(flat, data)) == len(told(flat, data.batch(32))) == 1
    unknown = tf.data.Dataset.from_generator(
        lambda: iter(()), output_signature=(tf.TensorSpec((None, None, None, 1)), tf.TensorSpec((None,), "int32"))
    )
    assert told(images(*classes()), unknown) == []
