"""What the text of a cell shows; nothing is executed and no framework is imported."""

from __future__ import annotations

import pytest

from colab_tpu_magic.checking.cell import CELL_TRAPS, find_in_text
from colab_tpu_magic.checking.cell.base import dotted, parse_cell
from colab_tpu_magic.hardware.environment import Environment

from .cells import CLEAN, TRAPS

WITHOUT = Environment("colab", "3.13.15", {"keras": "3.13.2", "jax": "0.7.2"})
WITH = Environment("jupyter", "3.13.15", {"keras": "3.15.1", "jax": "0.10.2", "tensorflow": "2.21.0"})


def found(text, environment=WITH):
    return find_in_text(parse_cell(text, environment))


@pytest.mark.parametrize("name", TRAPS)
def test_a_minimal_cell_shows_its_trap_with_a_line_and_what_to_type(name):
    trap = name.partition(",")[0]
    findings = found(TRAPS[name], WITHOUT if trap == "no-tensorflow" else WITH)
    (finding,) = [one for one in findings if one.trap == trap]
    assert finding.message.startswith("Line ")
    assert finding.type_next and finding.source
    assert {one.trap for one in findings} <= {trap, "cluster-resolver"}


def test_every_trap_of_the_text_has_a_cell():
    assert {name.partition(",")[0] for name in TRAPS} == {trap.id for trap in CELL_TRAPS}


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_cell_shows_nothing(name):
    assert found(CLEAN[name]) == []


def test_a_line_is_counted_as_the_notebook_counts_it():
    (finding,) = found("x = 1\n\nmodel.save_weights('w.h5')")
    assert finding.message.startswith("Line 4: ")
    assert finding.type_next == 'save_weights("w.weights.h5")'


def test_magics_and_shell_commands_in_a_cell_are_no_stumbling_block():
    (finding,) = found("%matplotlib inline\n!ls\nmodel.save('a.h5')")
    assert finding.message.startswith("Line 4: ") and finding.type_next == 'save("a.keras")'


def test_a_cell_that_is_no_python_is_refused_as_python_does():
    with pytest.raises(SyntaxError):
        found("model.fit(")


@pytest.mark.parametrize(
    "cell",
    [
        "resolver = tf.distribute.cluster_resolver.TPUClusterResolver('local')",
        "resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu='local')",
        "try:\n    strategy = tf.distribute.TPUStrategy(r)\nexcept ValueError:\n    raise",
        "try:\n    strategy = tf.distribute.TPUStrategy(r)\nexcept ImportError:\n    pass",
        "try:\n    x = int(text)\nexcept ValueError:\n    x = 0",
        "import os\nos.environ['KERAS_BACKEND'] = 'jax'\nimport keras",
        "with strategy.scope():\n    model = keras.Sequential([])\n    model.compile('adam', 'mse')\nmodel.fit(x)",
        "with tf.name_scope('a'):\n    model.compile('adam', 'mse')",
        "model.compile('adam', 'mse', jit_compile=True)",
        "model.save('model.keras'); model.save_weights('w.weights.h5')",
        "keras.callbacks.ModelCheckpoint('best.weights.h5', save_weights_only=True)",
        "keras.callbacks.ModelCheckpoint('best.keras', save_freq='epoch')",
        "numpy.save('data.h5')",
        "class Print(keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n        print(logs)",
        "'''tf.contrib and COLAB_TPU_ADDR in a docstring'''",
        "train.step(); optimizer = keras.optimizers.Adam()",
    ],
)
def test_what_only_looks_like_a_trap_is_none(cell):
    assert found(cell) == []


def test_a_backend_that_is_set_is_compared_with_the_one_that_is_loaded():
    loaded = Environment("jupyter", "3.13.15", WITH.packages, ("keras",), "tensorflow")
    cell = "import os\nos.environ['KERAS_BACKEND'] = '{}'"
    (finding,) = found(cell.format("jax"), loaded)
    assert "Keras is imported with the tensorflow backend" in finding.message
    assert finding.type_next == "%tpu_connect --restart --backend jax"
    assert found(cell.format("tensorflow"), loaded) == []


def test_two_kinds_of_tensorflow_1_are_two_findings_and_each_kind_one():
    findings = found("tf.contrib.tpu.a()\ntf.contrib.tpu.b()\ntf.compat.v1.placeholder('float')")
    assert [one.message.partition(": ")[2].partition(":")[0] for one in findings] == [
        "tf.contrib.tpu.a",
        "tf.compat.v1.placeholder",
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [("tf.train.Adam", "tf.train.Adam"), ("tensorflow.train", "tf.train"), ("f().save", ".save"), ("3", "")],
)
def test_names_are_read_with_their_dots(text, name):
    import ast

    assert dotted(ast.parse(text, mode="eval").body) == name


def test_a_resolver_without_a_name_is_told_to_go_and_not_to_be_repaired():
    (finding,) = found(TRAPS["cluster-resolver"], WITH)
    assert finding.type_next == "%tpu_connect"
    assert "Delete the block: %tpu_connect does its work." in finding.message
