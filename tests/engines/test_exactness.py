"""Evaluation and prediction are exact for any number of rows, in every entry point."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from .models import dense, rows, training

# A metric of one's own may depend on how rows are split; the one here does not.
pytestmark = pytest.mark.filterwarnings("ignore:A loss or metric of this model may be no mean")
COUNTS = (1, 3, 7, 8, 9, 127, 129, 1003)


class CountsRows(keras.metrics.Metric):
    """Count rows without looking at sample weights: padding rows would show."""

    def __init__(self, name="rows", **kwargs):
        super().__init__(name=name, **kwargs)
        self.seen = self.add_weight(name="seen", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.seen.assign_add(keras.ops.sum(keras.ops.ones_like(keras.ops.reshape(y_true, (-1,)), "float32")))

    def result(self):
        return keras.ops.convert_to_tensor(self.seen)


@pytest.fixture(scope="module")
def trained():
    x, y = rows()
    model = dense(metrics=["accuracy", CountsRows()])
    with training():
        model.fit(x, y, epochs=1)
    return model


@pytest.mark.parametrize("count", COUNTS)
def test_evaluate_counts_every_row_once(trained, count):
    x, y = rows(count)
    with training():
        there = trained.evaluate(x, y, verbose=0, return_dict=True)
    home = trained.evaluate(x, y, verbose=0, return_dict=True, batch_size=2048)
    assert there["rows"] == count
    assert there["accuracy"] == pytest.approx(home["accuracy"], abs=1e-6)
    assert there["loss"] == pytest.approx(home["loss"], rel=2e-6, abs=1e-6)


@pytest.mark.parametrize("count", COUNTS)
def test_predict_returns_every_row_in_order(trained, count):
    x, _ = rows(count)
    with training():
        there = trained.predict(x, verbose=0)
    assert there.shape == (count, 2)
    np.testing.assert_allclose(there, trained.predict(x, verbose=0), atol=1e-6)


@pytest.mark.keras_floor
@pytest.mark.eight
def test_acceptance_four_1003_rows_over_eight_replicas():
    x, y = rows(1003)
    model = dense()
    with training():
        there = model.evaluate(x, y, verbose=0)
        predicted = model.predict(x, verbose=0)
    np.testing.assert_allclose(there, model.evaluate(x, y, verbose=0), rtol=1e-6)
    np.testing.assert_allclose(predicted, model.predict(x, verbose=0), atol=1e-6)


@pytest.mark.parametrize("count", (1, 3, 11, 100))
def test_validation_inside_a_fit_counts_every_row_once(count):
    x, y = rows()
    model = dense(metrics=[CountsRows()])
    with training():
        history = model.fit(x, y, epochs=2, validation_data=(x[:count], y[:count])).history
    assert history["val_rows"] == [count, count]


def test_sample_weights_count_in_evaluation(trained):
    x, y = rows(101)
    weight = np.linspace(0, 2, 101).astype("float32")
    with training():
        there = trained.evaluate(x, y, sample_weight=weight, verbose=0, return_dict=True)
    home = trained.evaluate(x, y, sample_weight=weight, verbose=0, return_dict=True, batch_size=128)
    assert there["loss"] == pytest.approx(home["loss"], rel=1e-5)


def test_steps_limits_the_rows_of_evaluate_and_predict(trained):
    x, y = rows(200)
    with training():
        there = trained.evaluate(x, y, batch_size=16, steps=3, verbose=0, return_dict=True)
        assert trained.predict(x, batch_size=16, steps=3, verbose=0).shape == (48, 2)
    assert there["rows"] == 48


def test_several_outputs_are_each_cut_to_the_rows():
    x, _ = rows(13)
    inputs = keras.Input((20,))
    model = keras.Model(inputs, {"a": keras.layers.Dense(1)(inputs), "b": keras.layers.Dense(3)(inputs)})
    with training():
        there = model.predict(x, verbose=0)
    home = model.predict(x, verbose=0)
    for name in ("a", "b"):
        np.testing.assert_allclose(there[name], home[name], atol=1e-6)
