"""A call of keras.backend gives, as the one of keras.ops that it becomes, the figures that tf.keras.backend gives."""

from __future__ import annotations

import keras
import keras._tf_keras.keras.backend as old
import numpy as np
import pytest
import tensorflow as tf

from colab_tpu_magic import migrate

from .conftest import ENGINE

pytestmark = pytest.mark.table
assert ENGINE is not None
if ENGINE.replicas > 1:
    pytest.skip("Replicas make no difference here.", allow_module_level=True)

X = np.float32([[-1.5, 0.25, 4], [9, 2, -7]])
SAME = [
    "K.sum(x)",
    "K.mean(x, axis=1, keepdims=True)",
    "K.max(x, 0)",
    "K.std(x, axis=-1)",
    "K.var(x)",
    "K.prod(x, 1, False)",
    "K.argmax(x)",
    "K.argmin(x, axis=0)",
    "K.cumsum(x)",
    "K.concatenate([x, x])",
    "K.concatenate([x, x], axis=0)",
    "K.stack([x, x])",
    "K.expand_dims(x)",
    "K.squeeze(K.expand_dims(x, 0), 0)",
    "K.clip(x, -1, 2)",
    "K.pow(x, 2)",
    "K.sqrt(x)",
    "K.permute_dimensions(x, (1, 0))",
    "K.transpose(x)",
    "K.gather(x, np.int32([1, 0]))",
    "K.flatten(x)",
    "K.reshape(x, (3, 2))",
    "K.cast(x, 'int32')",
    "K.maximum(x, 1.0)",
    "K.greater_equal(x, 0.25)",
    "K.softmax(x)",
    "K.one_hot(np.int32([1, 0]), 3)",
    "K.sigmoid(x)",
    "K.abs(K.round(x))",
    "K.binary_crossentropy(K.sigmoid(x), K.sigmoid(x))",
    "K.categorical_crossentropy(K.softmax(x), K.softmax(x))",
    "K.sparse_categorical_crossentropy(np.int32([1, 0]), x, True)",
    "K.relu(x)",
    "K.zeros_like(x) + K.ones_like(x)",
]


@pytest.mark.parametrize("code", SAME)
def test_call_gives_the_figures_of_the_old_one(code):
    new = migrate(code)
    assert "K." not in new.text and new.refusals == ()
    names = {"x": X, "np": np, "keras": keras}
    *_, last = new.text.splitlines()
    expected = np.asarray(eval(code, names | {"K": old, "x": tf.constant(X)}))
    made = keras.ops.convert_to_numpy(eval(last, names))
    assert made.shape == expected.shape
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)
