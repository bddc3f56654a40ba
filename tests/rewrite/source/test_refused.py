"""What has no form of today is named with its line, why, and what to do instead."""

from __future__ import annotations

import pytest

from colab_tpu_magic import migrate
from colab_tpu_magic.rewrite.source import looks_old

REFUSED = [
    ("est = tf.contrib.tpu.TPUEstimator(model_fn=f)", "tf.contrib.tpu.TPUEstimator", "model.fit"),
    ("tf.estimator.train_and_evaluate(a, b, c)", "tf.estimator.train_and_evaluate", "model.fit"),
    ("config = tf.contrib.tpu.RunConfig()", "tf.contrib.tpu.RunConfig", "model.fit"),
    ("with tf.Session() as s:\n    pass", "tf.Session", "keras.layers"),
    ("with tf.Session() as s:\n    print(s.list_devices(), s.run(x))", "tf.Session", "keras.layers"),
    ("s = tf.Session()", "tf.Session", "keras.layers"),
    ("x = tf.placeholder(tf.float32, [None, 3])", "tf.placeholder", "keras.layers"),
    ("x = tf.compat.v1.placeholder(tf.float32)", "tf.compat.v1.placeholder", "keras.layers"),
    ("h = tf.layers.dense(x, 10)", "tf.layers.dense", "keras.layers"),
    ("tf.contrib.training.train(op, 'd')", "tf.contrib.training.train", "callbacks"),
    ("from tensorflow.contrib import slim", "from tensorflow.contrib import slim", "callbacks"),
    ("import tensorflow.contrib.eager as tfe", "import tensorflow.contrib.eager as tfe", "keras.layers"),
    ("c = tf.contrib.crf.crf_log_likelihood(a, b, c)", "tf.contrib.crf.crf_log_likelihood", "keras.layers"),
    ("it = data.make_initializable_iterator()", "make_initializable_iterator", "dataset"),
    ("tf.train.Saver().save(s, 'x')", "tf.train.Saver", "model.save"),
    ("o = tf.train.ProximalAdagradOptimizer(0.1)", "tf.train.ProximalAdagradOptimizer", "optimizer"),
    ("s = K.get_session()", "K.get_session", "keras.layers"),
    ("f = [a, K.learning_phase()]", "K.learning_phase", "keras.layers"),
    ("f = K.function([a], [b])", "K.function", "keras.ops"),
    ("v = K.variable(0.5)", "K.variable", "keras.ops"),
    ("from keras.layers import Dense, merge", "from keras.layers import Dense, merge", "concatenate"),
    ("from tensorflow.keras.layers import Merge", "from tensorflow.keras.layers import Merge", "concatenate"),
    ("from distutils.util import strtobool", "from distutils.util import strtobool", "yourself"),
    ("from keras.wrappers.scikit_learn import KerasClassifier", "keras.wrappers", "scikeras"),
]


@pytest.mark.parametrize(("text", "name", "instead"), REFUSED)
def test_old_name_is_refused_with_what_to_do(text, name, instead):
    result = migrate(f"a = 1\n{text}\n")
    assert looks_old(text)
    assert [refused.line for refused in result.refusals] == [2]
    assert name in result.refusals[0].name
    assert instead in result.refusals[0].instead
    assert result.text == f"a = 1\n{text}\n"


def test_what_can_be_carried_over_is_carried_over_beside_what_cannot():
    result = migrate("opt = tf.train.GradientDescentOptimizer(0.1)\ns = tf.Session()\n")
    assert result.text == "opt = tf.keras.optimizers.SGD(0.1)\ns = tf.Session()\n"
    assert [refused.line for refused in result.refusals] == [2]


@pytest.mark.parametrize(
    "text",
    [
        "s = requests.Session()",
        "e = Estimator()",
        "l = tf.keras.losses.MeanSquaredError()",
        "tf.compat.v1.logging.set_verbosity(3)",
        "c = tf.train.Checkpoint()",
        "v = tf.nn.softmax(x)",
        "f = tf.train.Feature()",
        "from keras.layers import concatenate",
        "e = K.epsilon() + K.floatx()",
        "v = tf.keras.backend.variable(0.5)",
        "from pandas import merge",
    ],
)
def test_names_that_are_there_today_are_not_refused(text):
    assert migrate(text).refusals == ()
