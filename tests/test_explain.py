"""Foreign error texts are recognised; others are left alone."""

from __future__ import annotations

import pytest

from colab_tpu_magic.errors import DataError, ModelError, TpuMagicError
from colab_tpu_magic.explain import CATALOGUE, explain

RECORDED = [
    (
        ValueError(
            "Could not interpret optimizer identifier: "
            "<tensorflow.python.training.adam.AdamOptimizer object at 0x7f0000000000>"
        ),
        ModelError,
        "The optimizer is a TensorFlow 1 one",
    ),
    (AttributeError("module 'tensorflow' has no attribute 'contrib'"), ModelError, "TensorFlow 1"),
    (AttributeError("module 'tensorflow._api.v2.train' has no attribute 'AdamOptimizer'"), ModelError, "tf.train"),
    (RuntimeError("RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: 38.92G exceeds 15.75G"), ModelError, "does not fit"),
    (TypeError("Value for attr 'T' of string is not in the list of allowed values: float"), DataError, "strings"),
]


@pytest.mark.parametrize(("error", "kind", "says"), RECORDED, ids=[says for _, _, says in RECORDED])
def test_recorded_error_is_explained_with_a_line_to_type(error, kind, says):
    ours = explain(error)
    assert isinstance(ours, kind)
    assert says in ours.what
    assert ours.type_next


def test_other_errors_are_not_explained():
    assert explain(ValueError("a mistake of the user's own")) is None
    assert explain(ZeroDivisionError()) is None


def test_our_own_errors_stay_what_they_are():
    error = DataError("x")
    assert explain(error) is error


def test_every_entry_names_where_it_was_met_and_can_be_made():
    for known in CATALOGUE:
        assert known.source
        assert isinstance(known.explanation(ValueError("text")), TpuMagicError)


def test_message_has_what_was_expected_and_what_to_type():
    assert str(TpuMagicError("It failed.", "more.", "%tpu")) == "It failed.\nExpected: more.\nType: %tpu"
    assert str(TpuMagicError("It failed.")) == "It failed."
