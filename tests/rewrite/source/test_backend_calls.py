"""A call of keras.backend becomes one of keras.ops, or stays; tests/engines compares the figures."""

from __future__ import annotations

import pytest

from colab_tpu_magic import migrate


@pytest.mark.parametrize(
    "text",
    ["K.clip(x, None, 1)", "K.relu(x, 0.1)", "K.sum(*a)", "K.concatenate(tensors=[x])", "K.epsilon()", "K.mean()"],
)
def test_call_that_keras_ops_takes_otherwise_stays(text):
    assert migrate(text).text == text


def test_names_that_are_not_keras_are_left():
    for text in ("class K: pass\nK.sum(x)", "import kornia as K\nK.mean(x)", "from my import backend\nbackend.sum(x)"):
        assert migrate(text).text == text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from tensorflow.keras import backend as K\ns = K.sum(x)", "import keras\n{}s = keras.ops.sum(x)"),
        ("from tensorflow import keras\ns = keras.backend.sum(x)", "{}s = keras.ops.sum(x)"),
        ("from tensorflow import keras\nimport keras.backend as K\ns = K.sum(x)", None),
        ("import tensorflow as tf\nK = tf.keras.backend\ns = K.sum(x)", None),
        (
            "K.set_value(opt.lr, K.get_value(opt.lr) / 2)",
            "import keras\nopt.learning_rate.assign({}(opt.learning_rate) / 2)",
        ),
    ],
)
def test_ops_are_named_as_the_text_names_keras(old, new):
    text = migrate(old).text
    if new is None:
        assert text.splitlines()[-1] == "s = keras.ops.sum(x)"
    else:
        first = old[: old.index("\n") + 1] if "\n" in old else "keras.ops.convert_to_numpy"
        assert text == new.format(first)
