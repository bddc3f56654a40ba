"""A model that exists moves in place onto the replicas and home again, in the middle of training."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from colab_tpu_magic.training.findings import findings

from .models import changed, dense, distance, rows, training, with_state


@pytest.mark.keras_floor
def test_half_trained_model_continues_with_its_optimizer_state():
    x, y = rows(960)
    arguments = {"batch_size": 96, "shuffle": False}
    ours, theirs = dense(), dense()
    ours.fit(x, y, verbose=0, **arguments)
    theirs.fit(x, y, epochs=2, verbose=0, **arguments)
    kernel = ours.layers[0].kernel
    with training(batch_size="keep", learning_rate="keep"):
        ours.fit(x, y, **arguments)
    assert ours.layers[0].kernel is kernel
    assert distance(ours, theirs) < 5e-5
    assert int(keras.ops.convert_to_numpy(ours.optimizer.iterations)) == 20


@pytest.mark.keras_floor
def test_model_works_as_plain_keras_after_the_cell(tmp_path):
    x, y = rows()
    model = with_state()
    with training():
        model.fit(x, y, epochs=1)
    for count in (1, 5, 1003):
        assert model.predict(x[:count], verbose=0).shape == (count, 2)
    model.fit(x, y, epochs=1, batch_size=50, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(x, verbose=0), model.predict(x, verbose=0), atol=1e-6)


def test_unbuilt_model_is_built_on_the_replicas():
    x, y = rows()
    model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(2, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    with training():
        history = model.fit(x, y, epochs=3).history
    assert history["loss"][-1] < history["loss"][0]
    assert model.predict(x[:3], verbose=0).shape == (3, 2)


def test_subclassed_model_with_state_that_cannot_be_serialised():
    x, y = rows()

    class Counting(keras.layers.Layer):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def build(self, shape):
            self.kernel = self.add_weight(shape=(shape[-1], 4))

        def call(self, inputs):
            return self.function(keras.ops.matmul(inputs, self.kernel))

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = Counting(lambda z: keras.ops.relu(z))
            self.out = keras.layers.Dense(2, activation="softmax")

        def call(self, inputs):
            return self.out(self.inner(inputs))

    model = Model()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, verbose=0)
    with training():
        history = model.fit(x, y, epochs=3).history
    assert history["loss"][-1] < history["loss"][0]
    assert model.evaluate(x[:11], y[:11], verbose=0)[0] > 0


def test_frozen_layer_stays_as_it_was():
    x, y = rows()
    model = dense()
    model.layers[0].trainable = False
    model.compile("adam", "sparse_categorical_crossentropy")
    before = model.layers[0].get_weights()[0].copy()
    with training():
        model.fit(x, y, epochs=1)
    np.testing.assert_array_equal(model.layers[0].get_weights()[0], before)


def test_scope_rule_says_what_it_moved(runtime):
    x, y = rows()
    model = dense()
    with training() as cell:
        model.fit(x, y)
    if runtime.replicas == 1:
        assert "scope" not in changed(cell.runs[0])
    else:
        assert changed(cell.runs[0])["scope"] == ("one device", f"{runtime.replicas} replicas, in place")


def test_no_scope_trains_on_one_device():
    x, y = rows()
    model = dense()
    with training(no=("scope",)) as cell:
        model.fit(x, y, batch_size=30)
        assert model.predict(x[:7], verbose=0).shape == (7, 2)
    assert cell.runs[0].replicas == 1
    assert "scope" not in changed(cell.runs[0])


def test_model_that_moves_between_fits_is_not_said_to_read_something_that_changes(runtime):
    x, y = rows(64)
    model = dense()
    moved = []
    for no in ((), ("scope",), ()):
        with training(no=no) as cell:
            model.fit(x, y, epochs=1)
        moved.append(cell.runs[-1].moved)
        assert [told for told in findings(cell.runs[-1]) if "compiled" in told] == []
    assert moved == [False, runtime.replicas > 1, runtime.replicas > 1]


def test_several_fits_in_one_cell_and_in_a_function():
    x, y = rows()
    first, second = dense(), with_state()

    def helper(model):
        return model.fit(x, y, epochs=1)

    with training() as cell:
        for _ in range(3):
            helper(first)
        second.fit(x, y)
        second.evaluate(x, y, verbose=0)
    assert [run.status for run in cell.runs] == ["completed"] * 4


def test_fit_is_keras_own_again_after_the_cell():
    before = keras.Model.fit
    with training():
        assert keras.Model.fit is not before
    assert keras.Model.fit is before


def test_model_with_its_own_fit_that_calls_super_is_trained():
    x, y = rows()

    class Mine(keras.Sequential):
        def fit(self, *args, **kwargs):
            self.called = True
            return super().fit(*args, **kwargs)

    model = Mine([keras.Input((20,)), keras.layers.Dense(2, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    with training() as cell:
        model.fit(x, y)
    assert model.called and len(cell.runs) == 1
