"""Each form of a model trains on the replicas like plain Keras on one device, or is refused by name.

Tolerances are those of docs/models.md. On TensorFlow the plain model runs eagerly, which
computes the same and need not be compiled.
"""

from __future__ import annotations

import keras
import numpy as np
import pytest

import colab_tpu_magic as tpu

from . import more_model_parts  # noqa: F401  enters its forms
from .models import changed, distance, training
from .more_models import MODELS, classifier, data_for

pytestmark = pytest.mark.table

EXACT = (2e-6, 2e-5)  # of losses and metrics, of weights
TOLERANCE = {"mixed precision": (2e-4, 2e-3), "batch normalization": (2e-4, 2e-3)}
# What a TensorFlow replica draws or works out from its own rows; the loss stays near.
OF_ONE_REPLICA = {"batch normalization", "dropout and noise", "preprocessing and augmentation layers"}
REFUSED_ON_REPLICAS = {
    "gradient accumulation": "gradient_accumulation_steps=3",
    "averaged weights written over every two steps": "ema_overwrite_frequency=2",
}
ARGUMENTS = {"batch_size": 32, "epochs": 2, "shuffle": False}
LONG = (
    "shared layer, dicts of inputs and outputs, loss weights",
    "subclassed; layer, loss, metric and compute_loss of one's own",
)


def fitted_like(model, x, y, **arguments):
    """Train a model as plain Keras does."""
    if keras.backend.backend() == "tensorflow":
        model.run_eagerly = True
    keras.utils.set_random_seed(9)
    return model.fit(x, y, verbose=0, **{**ARGUMENTS, **arguments}).history


@pytest.mark.filterwarnings("ignore:A loss or metric of this model", "ignore:Skipping variable loading")
@pytest.mark.parametrize("name", MODELS)
def test_form_trains_like_plain_keras(name, runtime):
    factory, kind = MODELS[name]
    x, y = data_for(kind)
    ours, theirs = factory(), factory()
    several = runtime.backend == "tensorflow" and runtime.replicas > 1
    more = {"validation_data": (x, y)} if name in LONG else {}
    if several and name in REFUSED_ON_REPLICAS:
        with pytest.raises(tpu.ModelError, match=REFUSED_ON_REPLICAS[name]) as refused, training():
            ours.fit(x, y)
        assert "--no scope" in str(refused.value)
        return
    with training(batch_size="keep", learning_rate="keep"):
        keras.utils.set_random_seed(9)
        history = ours.fit(x, y, **ARGUMENTS, **more).history
    expected = fitted_like(theirs, x, y, **more)
    assert list(history) == list(expected)
    if several and name in OF_ONE_REPLICA:
        assert abs(history["loss"][-1] - expected["loss"][-1]) < 0.15
        return
    figures, weights = TOLERANCE.get(name, EXACT)
    for metric in expected:
        np.testing.assert_allclose(history[metric], expected[metric], atol=figures, rtol=2e-5, err_msg=metric)
    assert distance(ours, theirs) < weights


def stateful():
    keras.utils.set_random_seed(2)
    model = keras.Sequential(
        [keras.Input((5, 2), batch_size=16), keras.layers.LSTM(3, stateful=True), keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model


@pytest.mark.keras_floor
def test_stateful_rnn_keeps_the_batch_it_was_made_for(runtime):
    x = np.random.default_rng(0).normal(size=(64, 5, 2)).astype("float32")
    y = x[:, -1, :1]
    ours, theirs = stateful(), stateful()
    arguments = {"batch_size": 16, "epochs": 2, "shuffle": False}
    if runtime.backend == "tensorflow" and runtime.replicas > 1:
        with pytest.raises(tpu.ModelError, match="batches of exactly 16 rows"), training():
            ours.fit(x, y, **arguments)
        with training(no=("scope",)):
            ours.fit(x, y, **arguments)
    else:
        with training():
            ours.fit(x, y, validation_data=(x, y), **arguments)
            assert ours.predict(x, batch_size=16, verbose=0).shape == (64, 1)
        # The state goes on through validation and prediction, so the comparison is a fit of its own.
        ours = stateful()
        with training() as cell:
            ours.fit(x, y, **arguments)
        assert cell.runs[0].global_batch_size == 16 and cell.runs[0].step == 8
        assert "batch-size" not in changed(cell.runs[0])
    fitted_like(theirs, x, y, batch_size=16)
    assert distance(ours, theirs) < 2e-5
    with pytest.raises(tpu.OptionError, match="--batch-size 32 cannot hold"), training(batch_size=32, no=("scope",)):
        ours.fit(x, y)


@pytest.mark.keras_floor
def test_trainable_is_changed_between_two_fits_of_one_cell():
    x, y = data_for("vector")

    def two_fits(fit):
        model = MODELS["sequential, not built"][0]()
        model.build((None, 12))
        model.layers[0].trainable = False
        model.compile("sgd", "sparse_categorical_crossentropy")
        before = model.layers[0].get_weights()[0].copy()
        fit(model)
        np.testing.assert_array_equal(model.layers[0].get_weights()[0], before)
        model.layers[0].trainable = True
        model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
        fit(model)
        assert np.abs(model.layers[0].get_weights()[0] - before).max() > 1e-3
        return model

    with training(batch_size="keep", learning_rate="keep"):
        ours = two_fits(lambda model: model.fit(x, y, **ARGUMENTS))
    theirs = two_fits(lambda model: fitted_like(model, x, y))
    assert distance(ours, theirs) < 2e-5


@pytest.mark.slow
@pytest.mark.only("jax")
def test_application_is_trained_frozen_and_then_fine_tuned():
    x, y = data_for("image", 16)
    x = np.repeat(np.repeat(x[..., :3], 4, axis=1), 4, axis=2)

    def transfer(fit):
        keras.utils.set_random_seed(4)
        whole = keras.applications.MobileNetV2((32, 32, 3), alpha=0.35, weights=None, include_top=False)
        # Its first blocks have every kind of layer in it, and compile in seconds.
        base = keras.Model(whole.input, whole.get_layer("block_2_add").output)
        base.trainable = False
        inputs = keras.Input((32, 32, 3))
        hidden = base(keras.layers.Rescaling(1 / 127.5, offset=-1)(inputs), training=False)
        pooled = keras.layers.GlobalAveragePooling2D()(hidden)
        model = keras.Model(inputs, keras.layers.Dense(2, activation="softmax")(pooled))
        losses = []
        for trainable in (False, True):
            base.trainable = trainable
            model.compile(keras.optimizers.SGD(0.01), "sparse_categorical_crossentropy")
            losses.append(fit(model)["loss"][-1])
        return model, losses

    with training(batch_size="keep", learning_rate="keep"):
        ours, there = transfer(lambda model: model.fit(x, y, batch_size=16, shuffle=False).history)
    theirs, expected = transfer(lambda model: model.fit(x, y, batch_size=16, shuffle=False, verbose=0).history)
    np.testing.assert_allclose(there, expected, atol=1e-5)
    assert distance(ours, theirs) < 1e-4


@pytest.mark.keras_floor
@pytest.mark.only("jax")
def test_synchronized_batch_normalization_is_taken_on_jax_and_told():
    x, y = data_for("vector")
    with pytest.raises(ValueError, match="synchronized"):
        keras.layers.BatchNormalization(synchronized=True)
    with training(batch_size="keep") as cell:
        model = classifier(keras.layers.Dense(4), keras.layers.BatchNormalization(synchronized=True))
        model.fit(x, y)
    assert changed(cell.runs[0])["batch-normalization"] == (
        "synchronized=True in 1 layer",
        "the same statistics without it",
    )
    assert not model.layers[1].get_config()["synchronized"]


@pytest.mark.only("tensorflow")
def test_synchronized_batch_normalization_equals_one_device_on_tensorflow():
    x, y = data_for("vector")

    def made():
        keras.utils.set_random_seed(7)
        return classifier(keras.layers.Dense(4), keras.layers.BatchNormalization(synchronized=True))

    ours, theirs = made(), made()
    with training(batch_size="keep", learning_rate="keep"):
        history = ours.fit(x, y, **ARGUMENTS).history
    expected = fitted_like(theirs, x, y)
    np.testing.assert_allclose(history["loss"], expected["loss"], atol=1e-5)
