"""The rig itself: this process trains on the engine that it was started for."""

from __future__ import annotations


def test_runtime_is_the_engine_that_was_asked_for(runtime, engine):
    import keras

    assert runtime.backend == engine.backend == keras.backend.backend()
    assert runtime.replicas == engine.replicas
    assert runtime.kind == "simulated"


def test_digits_are_real_and_balanced(digits):
    assert digits.x_train.shape == (4000, 28, 28, 1)
    assert digits.x_test.shape == (1000, 28, 28, 1)
    assert 0.0 == digits.x_train.min() and digits.x_train.max() == 1.0
    assert set(digits.y_test) == set(range(10))
