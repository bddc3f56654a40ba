"""Cells of TensorFlow's TPU years train as they stand under `%%tpu_fit`: the article's own, and one of each idiom."""

from __future__ import annotations

import os

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from colab_tpu_magic import migrate
from colab_tpu_magic.magics.training import ONLY_PREPARES
from colab_tpu_magic.session import session

from ..article_cells import ARTICLE, CONVERSION, TRAINING
from ..old_cells import OLD_CELLS
from .conftest import ENGINE
from .models import dense, rows

pytestmark = pytest.mark.table

ROWS = 256
assert ENGINE is not None
ALONE = ENGINE.replicas == 1
runnable = [cell for cell in OLD_CELLS if ENGINE.backend in cell.backends and (cell.replicated or ALONE)]


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "colab_tpu_magic")
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def old_shell(shell, runtime, tmp_path):
    """A shell with what the cells of the table presuppose."""
    x, y = rows(ROWS)
    begun = session.last_run.number if session.last_run is not None else 0

    def trained(epochs=1):
        made = [run for run in session.runs if run.number > begun]
        return [(run.status, run.epoch) for run in made] == [("completed", epochs)]

    names = {"tf": tf, "keras": keras, "np": np, "pd": pd, "os": os, "K": tf.keras.backend}
    data = {"x": x, "y": y, "y_hot": np.eye(2, dtype="float32")[y], "model": dense(), "folder": str(tmp_path)}
    shell.user_ns |= names | data | {"replicas": runtime.replicas, "trained": trained}
    yield shell
    keras.config.set_dtype_policy("float32")


@pytest.mark.parametrize("cell", runnable, ids=[cell.name for cell in runnable])
def test_old_cell_runs_as_it_stands(old_shell, cell):
    old_shell.run_cell_magic("tpu_fit", "--quiet", cell.old)
    assert eval(cell.check, old_shell.user_ns), cell.check


@pytest.mark.skipif(ALONE, reason="the article is about a slice of a TPU")
def test_articles_own_cells_train_one_after_the_other(shell, digits, capsys):
    images = np.concatenate([digits.x_train, digits.x_test]).reshape(-1, 784)
    labels = np.concatenate([digits.y_train, digits.y_test])
    model = keras.Sequential(
        [keras.Input((784,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10, activation="softmax")]
    )
    shell.user_ns |= {"os": os, "tf": tf, "model": model, "learning_rate": 0.001}
    shell.user_ns |= {"x_train": images, "y_train": keras.utils.to_categorical(labels, 10)}
    for cell in ARTICLE[:-1]:
        shell.run_cell_magic("tpu_fit", "", cell)
        told = capsys.readouterr().out
        assert ONLY_PREPARES in told
        assert ("brought up to date" in told) is (cell is not ARTICLE[0])
    assert shell.user_ns["tpu_model"] is model
    # The lesson with these cells trains them to the end on JAX, so that 2 of the 10 epochs do here.
    short = ENGINE.backend == "jax"
    history = shell.run_cell_magic("tpu_fit", "--quiet --epochs 2" if short else "--quiet", TRAINING)
    run, steps = session.last_run, 120 if short else 600
    assert (run.status, run.steps_per_epoch, run.step, run.global_batch_size) == ("completed", 60, steps, 1024)
    assert history.history["acc"][-1] > (0.9 if short else 0.97)


def test_generator_function_gives_a_pass_for_each_epoch_and_is_no_old_code(old_shell, capsys):
    make = "def batches():\n    for i in range(0, 128, 32):\n        yield x[i:i + 32], y[i:i + 32]\n"
    for steps in ("", ", steps_per_epoch=4"):
        old_shell.run_cell_magic("tpu_fit", "", f"{make}model.fit(batches, epochs=2{steps})")
        run = session.last_run
        assert (run.status, run.epoch, run.step) == ("completed", 2, 8)
    assert "brought up to date" not in capsys.readouterr().out


def test_switch_runs_the_cell_as_it_stands(old_shell):
    with pytest.raises(UsageError, match="uses TensorFlow 1"):
        old_shell.run_cell_magic("tpu_fit", "--quiet --no migrate", CONVERSION.replace("TPU_ADDRESS", ""))


def test_cell_that_cannot_be_carried_over_is_refused_before_anything_runs(old_shell):
    old_shell.user_ns["ran"] = False
    with pytest.raises(UsageError) as caught:
        old_shell.run_cell_magic("tpu_fit", "", "ran = True\nwith tf.Session() as sess:\n    sess.run(x)")
    assert "Line 3: tf.Session" in str(caught.value)
    assert str(caught.value).splitlines()[-1] == "Type: %%tpu_fit --no migrate to run it as it stands"
    assert old_shell.user_ns["ran"] is False


def test_cell_of_today_that_trains_nothing_is_an_error_still(old_shell):
    with pytest.raises(UsageError, match="called fit, evaluate or predict of no Keras model"):
        old_shell.run_cell_magic("tpu_fit", "", "z = x + 1")


@pytest.mark.only("jax")
def test_strategy_on_jax_names_what_only_tensorflow_has(old_shell):
    with pytest.raises(UsageError, match="strategy.run is a part of TensorFlow's own training loop"):
        old_shell.run_cell_magic(
            "tpu_fit", "--quiet", "s = tf.distribute.TPUStrategy(None)\ns.experimental_run_v2(print)"
        )


RATE, STEPS = 0.05, 6
SAME = (
    "GradientDescentOptimizer(RATE)",
    "MomentumOptimizer(RATE, 0.9)",
    "MomentumOptimizer(RATE, 0.8, use_nesterov=True)",
    "AdamOptimizer(RATE, beta1=0.7)",
    "AdagradOptimizer(RATE)",
    "AdadeltaOptimizer(RATE)",
    "FtrlOptimizer(RATE, -0.5, 0.1, 0.01, 0.02)",
)


@pytest.mark.only("tensorflow")
@pytest.mark.parametrize("old", SAME)
def test_keras_optimizer_computes_what_that_of_tensorflow_1_computed(old):
    gradients = np.random.default_rng(0).normal(size=(STEPS, 5)).astype("float32")
    names = {"tf": tf, "RATE": RATE}
    then = eval(f"tf.compat.v1.train.{old}", names)
    now = eval(migrate(f"tf.train.{old}").text, names)
    first, second = tf.Variable(np.ones(5, "float32")), keras.Variable(np.ones(5, "float32"))
    for gradient in gradients:
        then.apply_gradients([(tf.constant(gradient), first)])
        now.apply_gradients([(tf.constant(gradient), second)])
    np.testing.assert_allclose(first.numpy(), np.asarray(second), rtol=2e-6, atol=1e-6)
