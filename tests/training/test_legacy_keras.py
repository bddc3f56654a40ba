"""A Keras 2 model is trained where it can be, and refused at its first call where it cannot."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from colab_tpu_magic.errors import ModelError
from colab_tpu_magic.training.legacy_keras import check_legacy_model, expect_legacy_keras, watching_legacy_models

STRATEGY = object()
JAX = SimpleNamespace(replicas=8, engine=SimpleNamespace(name="jax"))
TF_2 = SimpleNamespace(replicas=2, engine=SimpleNamespace(name="tensorflow", strategy=STRATEGY))
TF_1 = SimpleNamespace(replicas=1, engine=SimpleNamespace(name="tensorflow", strategy=None))


class Sequential:
    """Has what is asked of a tf_keras model."""

    def __init__(self, strategy=None):
        self.distribute_strategy = strategy

    def fit(self, x):
        return self.evaluate(x)

    def evaluate(self, x):
        return x


def test_jax_refuses_at_once_and_names_the_import_to_change():
    with pytest.raises(ModelError, match="Sequential is a tf_keras .* fit would run on this machine's CPU") as refused:
        check_legacy_model(Sequential(), "fit", JAX)
    assert refused.value.type_next.startswith("import keras")


def test_tensorflow_takes_what_was_made_in_its_scope():
    check_legacy_model(Sequential(STRATEGY), "fit", TF_2)
    check_legacy_model(Sequential(), "fit", TF_1)
    with pytest.raises(ModelError, match="made outside the 2 replicas") as refused:
        check_legacy_model(Sequential(), "fit", TF_2)
    assert "with tpu.runtime.engine.scope():" in refused.value.type_next


def test_methods_are_watched_for_the_length_of_a_cell(monkeypatch):
    module = ModuleType("tf_keras")
    module.Model = Sequential
    monkeypatch.setitem(sys.modules, "tf_keras", module)
    calls, before = [], Sequential.fit
    with watching_legacy_models(TF_1, lambda: calls.append(1)):
        assert Sequential().fit(3) == 3
    assert calls == [1]  # the evaluation inside belongs to the fit
    assert Sequential.fit is before


def test_cell_that_does_not_name_it_imports_nothing(monkeypatch):
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    loaded = "tf_keras" in sys.modules
    expect_legacy_keras("import keras\nmodel.fit(x, y)")
    assert ("tf_keras" in sys.modules) == loaded
