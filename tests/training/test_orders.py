"""Shuffles that come in a new order each time are found beneath a dataset, however it was mapped since."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from colab_tpu_magic.training.orders import is_looked_at, orders_beneath

tf = pytest.importorskip("tensorflow")


@pytest.mark.parametrize(
    ("made", "picked"),
    [
        (lambda rows: rows.shuffle(9).map(lambda x: x + 1).batch(2).prefetch(1), [False]),
        (lambda rows: rows.shuffle(9).take(3).batch(2), [True]),
        (lambda rows: rows.take(3).shuffle(9, seed=1), [False]),
        (lambda rows: rows.shuffle(9, reshuffle_each_iteration=False).skip(3), []),
        (lambda rows: rows.batch(3), []),
        (lambda rows: tf.data.Dataset.zip((rows.shuffle(9), rows.shuffle(9).filter(lambda x: x > 1))), [False, True]),
    ],
)
def test_shuffles_are_found_and_whether_rows_of_them_are_picked(made, picked):
    assert sorted(orders_beneath(made(tf.data.Dataset.range(9))).values()) == picked


def test_what_is_no_dataset_has_none_and_parts_of_one_share_their_shuffle():
    assert orders_beneath([1, 2]) == orders_beneath(None) == {}
    rows = tf.data.Dataset.range(9).shuffle(9)
    assert set(orders_beneath(rows.take(3))) == set(orders_beneath(rows.skip(3).batch(2)))


def test_keras_looks_at_a_batch_until_model_metrics_and_loss_are_built():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    assert is_looked_at(model, "jax", 8)
    model.fit(np.ones((1, 2)), np.ones(1), verbose=0)
    assert not is_looked_at(model, "jax", 8)
    assert is_looked_at(model, "tensorflow", 2)
    assert not is_looked_at(model, "tensorflow", 1)
