"""The validation of a script counts the rows of the run: plain arguments where Keras can, else a callback."""

from __future__ import annotations

import pytest

from colab_tpu_magic.errors import ExportError
from colab_tpu_magic.training.recipe import DataFacts

from .notebooks import SETUP, script

TWO = {"backend": "tensorflow", "kind": "simulated", "replicas": 2}
GENERATOR = DataFacts("generator", None, 20, once=True)
SEQUENCE = DataFacts("PyDataset", None, 31, batches=13)


def text_of(given: str, facts: DataFacts, more: str = "", **values) -> str:
    fit = f"%%tpu_fit --seed 0\nmodel.fit(x, y, validation_data={given}{more})"
    text = script([SETUP, "val = make = None", fit], validation=facts, **{"validation_batch_size": 48} | values)
    compile(text, "script", "exec")
    return text


@pytest.mark.parametrize(
    ("given", "facts", "values", "expected"),
    [
        ("make()", GENERATOR, {}, "ValidateEveryRow(make(), steps=3)"),
        ("make()", GENERATOR, {"kind": "simulated", "replicas": 8}, "ValidateEveryRow(make(), steps=3)"),
        ("make()", GENERATOR, TWO, "ValidateEveryRow(make(), batch_size=48, steps=3)"),
        ("val", SEQUENCE, TWO, "ValidateEveryRow(val, batch_size=48, steps=3)"),
        (
            "make",
            DataFacts("generator function", None, 20, call="()"),
            {},
            "ValidateEveryRow(lambda: make(), steps=3)",
        ),
    ],
)
def test_batches_that_keras_would_begin_anew_or_look_into_are_read_by_a_callback(given, facts, values, expected):
    text = text_of(given, facts, ", validation_steps=3", **values)
    assert f"callbacks=[{expected}]," in text
    assert "import itertools" in text
    assert "validation_data=" not in text
    assert ("set_distribution(None)" in text) == (values.get("replicas") == 8)


def test_a_callback_validates_as_often_as_the_call_said():
    text = text_of("make()", GENERATOR, ", validation_steps=3, validation_freq=2")
    assert "ValidateEveryRow(make(), steps=3, validation_freq=2)" in text


def test_moving_statistics_are_averaged_before_the_joined_rows_are_validated():
    text = text_of("val", SEQUENCE, **TWO, averaged_statistics=True)
    assert "ValidateEveryRow(val, batch_size=48, callbacks=[AverageStatistics()])]" in text


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "validation_data=val.rebatch(48),"),
        ({"more": ", validation_steps=3"}, "validation_data=val.take(3).rebatch(48),"),
    ],
)
def test_uneven_batches_of_a_dataset_are_joined_for_tensorflow_replicas(values, expected):
    text = text_of("val", DataFacts("tf.data.Dataset", None, 7, batches=9), **values, **TWO)
    assert expected in text
    assert "validation_steps" not in text


def test_fewer_rows_than_a_batch_are_cut_so_that_replicas_can_share_the_first():
    assert "validation_batch_size=14," in text_of("(x, y)", DataFacts("arrays", 15), **TWO)
    assert "validation_batch_size=48," in text_of("(x, y)", DataFacts("arrays", 51), **TWO)
    assert "validation_batch_size=48," in text_of("(x, y)", DataFacts("arrays", 16), **TWO)


@pytest.mark.parametrize(
    ("facts", "values", "why"),
    [
        (SEQUENCE, {"validation_in_any_batches": False}, "no mean over rows"),
        (DataFacts("PyDataset", None, 31, longest=(((1, 9),),), fill=(0.0,)), {}, "rows of varying length"),
    ],
)
def test_batches_that_cannot_be_joined_are_refused_with_a_way_on(facts, values, why):
    with pytest.raises(ExportError, match=rf"{why}[\s\S]*Type: x_val, y_val = "):
        text_of("val", facts, **TWO, **values)


@pytest.mark.parametrize(
    ("given", "kinds", "expected"),
    [
        ("(x[:9], y[:9])", ("{}.toarray()", "array"), "(x[:9].toarray(), y[:9])"),
        ("val", ("{}.toarray()", "array"), "(val[0].toarray(), val[1])"),
        ("(x, y, val)", ("array", "{}.to_tensor().numpy()", ""), "(x, y.to_tensor().numpy(), val)"),
        ("make(x)", ("array", "array"), "make(x)"),
    ],
)
def test_parts_of_a_validation_that_are_no_arrays_become_some(given, kinds, expected):
    text = text_of(given, DataFacts("arrays", 96), validation_kinds=kinds)
    assert f"validation_data={expected}," in text


def test_a_validation_of_sparse_rows_that_the_call_makes_is_refused_with_a_way_on():
    with pytest.raises(ExportError, match=r"is made in the call[\s\S]*validation = make\(x\)"):
        text_of("make(x)", DataFacts("arrays", 96), validation_kinds=("{}.toarray()", "array"))
