"""Training on N replicas equals plain Keras on one device, step for step.

Tolerances: JAX sums in another order on eight devices, measured up to 1e-7 in losses and
8e-6 in weights in float32; TensorFlow up to 1e-6 on models without per-replica state.
"""

from __future__ import annotations

import numpy as np
import pytest

from .models import dense, distance, rows, training, with_state

LOSS_TOLERANCE = 2e-6
WEIGHT_TOLERANCE = 5e-5


def plain(model, x, y, **arguments):
    return model.fit(x, y, verbose=0, **arguments).history


@pytest.mark.keras_floor
@pytest.mark.eight
def test_eight_replicas_train_like_one_device():
    x, y = rows(960)
    ours, theirs = dense(), dense()
    with training(batch_size="keep", learning_rate="keep"):
        history = ours.fit(x, y, batch_size=96, epochs=3, shuffle=False).history
    expected = plain(theirs, x, y, batch_size=96, epochs=3, shuffle=False)
    np.testing.assert_allclose(history["loss"], expected["loss"], atol=LOSS_TOLERANCE, rtol=1e-5)
    assert history["accuracy"] == pytest.approx(expected["accuracy"], abs=1e-6)
    assert distance(ours, theirs) < WEIGHT_TOLERANCE


def test_every_engine_trains_like_plain_keras():
    x, y = rows(960)
    ours, theirs = dense(), dense()
    with training(batch_size="keep", learning_rate="keep"):
        history = ours.fit(x, y, batch_size=96, epochs=3, shuffle=False, validation_data=(x[:101], y[:101])).history
    expected = plain(theirs, x, y, batch_size=96, epochs=3, shuffle=False, validation_data=(x[:101], y[:101]))
    assert list(history) == list(expected)
    for name in expected:
        np.testing.assert_allclose(history[name], expected[name], atol=LOSS_TOLERANCE, rtol=2e-5, err_msg=name)
    assert distance(ours, theirs) < WEIGHT_TOLERANCE


@pytest.mark.only("jax")
def test_dropout_and_batch_normalization_train_as_on_one_device_on_jax():
    x, y = rows(960)
    ours, theirs = with_state(), with_state()
    with training(batch_size="keep", learning_rate="keep"):
        history = ours.fit(x, y, batch_size=96, epochs=2, shuffle=False).history
    expected = plain(theirs, x, y, batch_size=96, epochs=2, shuffle=False)
    np.testing.assert_allclose(history["loss"], expected["loss"], atol=1e-4)
    assert distance(ours, theirs) < 1e-3


@pytest.mark.only("tensorflow")
def test_batch_normalization_predicts_the_same_on_replicas_and_at_home_on_tensorflow():
    x, y = rows()
    model = with_state()
    with training():
        model.fit(x, y, epochs=2, batch_size=32)
        there = model.predict(x, verbose=0)
        loss_there = model.evaluate(x, y, verbose=0)
    np.testing.assert_allclose(model.predict(x, verbose=0), there, atol=1e-6)
    assert model.evaluate(x, y, verbose=0) == pytest.approx(loss_there, abs=1e-6)


def test_the_same_seed_gives_the_same_history():
    x, y = rows()
    histories = []
    for _ in range(2):
        model = dense()
        with training(seed=5):
            histories.append(model.fit(x, y, epochs=2).history)
    assert histories[0] == histories[1]


def test_all_rows_are_shuffled_and_every_row_is_seen_each_epoch():
    seen = []
    x = np.arange(40, dtype="float32").reshape(-1, 1)
    from colab_tpu_magic.rewrite.dataset import training_feed
    from colab_tpu_magic.rewrite.streams import read_data

    feed = training_feed(read_data(x, x), 8, True, 3, True, 2)
    batches = iter(feed)
    for _ in range(10):
        seen.append(next(batches)[0][:, 0].astype(int).tolist())
    first, second = sum(seen[:5], []), sum(seen[5:], [])
    assert sorted(first) == sorted(second) == list(range(40))
    assert first != second and first != list(range(40))
