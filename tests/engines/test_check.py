"""A check finds each trap that a model and its data show, nothing where all is well, and leaves all as it was."""

from __future__ import annotations

import copy
import math
import random
from dataclasses import replace

import keras
import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import colab_tpu_magic as tpu
from colab_tpu_magic.checking import data_traps
from colab_tpu_magic.hardware.slices import parse_slice
from colab_tpu_magic.rewrite.traps.data import DATA_TRAPS
from colab_tpu_magic.rewrite.traps.data.not_a_number import first_bad_row
from colab_tpu_magic.session import session
from colab_tpu_magic.sizes import bytes_text

from ..checking.cells import CLEAN
from .models import dense, rows, training

pytestmark = pytest.mark.table

X, Y = rows(200)


def traps(report):
    return [finding.trap for finding in report.findings]


def wide(units=130):
    model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(units), keras.layers.Dense(2)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def with_nan():
    x = X.copy()
    x[77, 3] = np.nan
    return x


class Batches(keras.utils.PyDataset):
    asked = 0

    def __len__(self):
        return 5

    def __getitem__(self, index):
        self.asked += 1
        return X[:8], Y[:8]


def one_hot():
    return keras.utils.to_categorical(Y, 2)


CASES = {
    "nan-data": lambda: tpu.check(dense(), with_nan(), Y),
    "labels-one-hot": lambda: tpu.check(dense(), X, one_hot()),
    "labels-out-of-range": lambda: tpu.check(dense(), X, Y + 1),
    "rate-kept": lambda: tpu.check(
        dense(), *rows(8000), batch_size=16, options=tpu.FitOptions(learning_rate="keep", batch_size=128)
    ),
    "python-feed": lambda: tpu.check(dense(), Batches()),
    "tile-padding": lambda: tpu.check(wide(), X, Y),
}


@pytest.mark.parametrize("trap", CASES)
def test_a_minimal_model_and_its_data_show_their_trap_and_no_other(trap):
    report = CASES[trap]()
    assert traps(report) == [trap]
    assert report.findings[0].type_next
    assert not report.ok


def test_a_batch_that_cannot_be_shared_is_told_where_there_are_several_replicas(runtime):
    report = tpu.check(dense(), X, Y, batch_size=43)
    assert traps(report) == (["indivisible-batch"] if runtime.replicas > 1 else [])
    if runtime.replicas == 8:
        assert report.findings[0].type_next == "model.fit(..., batch_size=48)"
        assert [change.after for change in report.changes if change.rule == "batch-size"] == [
            "48 (8 × 6), 5 steps an epoch"
        ]


def test_steps_per_execution_on_jax_is_told_to_be_a_loop(runtime):
    report = tpu.check(dense(steps_per_execution=4), X, Y)
    assert traps(report) == (["host-loop"] if runtime.backend == "jax" else [])


def test_a_model_larger_than_the_memory_is_told(runtime):
    small = parse_slice("v2-8")
    session.runtime = replace(runtime, slice=replace(small, chip=replace(small.chip, hbm_bytes_per_chip=4000)))
    report = tpu.check(dense(), X, Y)
    assert traps(report) == ["out-of-hbm"]  # 370 weights, their gradients and two numbers of Adam for each
    model = dense()
    held = 4 * sum(math.prod(weight.shape) for weight in model.weights)
    largest = max(model.layers, key=lambda layer: layer.count_params())
    for bytes_each, words in (
        (2 * held, ["optimizer state take", "SGD()", bytes_text(2 * held)]),
        (
            held,
            ["Weights and a gradient for each", "The largest layer is 'dense", bytes_text(4 * largest.count_params())],
        ),
        (held - 4, ["The weights alone take", "no optimizer and no batch size", f"a smaller {type(largest).__name__}"]),
    ):
        chip = replace(small.chip, hbm_bytes_per_chip=bytes_each * small.chip.devices_per_chip)
        session.runtime = replace(runtime, slice=replace(small, chip=chip))
        (told,) = tpu.check(model, X, Y).findings
        assert [word for word in words if word not in told.sentence] == []
    session.runtime = replace(runtime, slice=small)
    assert tpu.check(dense(), X, Y).ok


def test_of_several_wide_layers_the_worst_is_named_and_frozen_ones_are_left_alone():
    model = keras.Sequential([keras.Input((20,)), *(keras.layers.Dense(n) for n in (150, 130, 200, 384, 300, 2))])
    model.compile("adam", "mse")
    (finding,) = tpu.check(model, X, one_hot()).findings
    assert "130 wide" in finding.message and finding.message.endswith("Also just over a tile: 150.")
    model.layers[0].trainable = model.layers[1].trainable = False
    assert tpu.check(model, X, one_hot()).ok


def test_labels_for_every_column_of_a_model_that_is_not_built_pass():
    steps = keras.Sequential([keras.layers.Reshape((20, 1)), keras.layers.Dense(20)])
    steps.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    assert tpu.check(steps, X, np.random.default_rng(0).integers(0, 20, (200, 20))).ok


def test_every_trap_of_the_data_is_tested_here():
    others = {"indivisible-batch", "host-loop", "out-of-hbm"}
    assert {trap.id for trap in DATA_TRAPS} == {*CASES, *others}


@pytest.mark.parametrize(
    ("labels", "loss", "ok"),
    [
        (Y, "SparseCategoricalCrossentropy", True),
        (Y.reshape(-1, 1), "sparse_categorical_crossentropy", True),
        (Y, keras.losses.sparse_categorical_crossentropy, True),
        (np.where(Y == 0, -1, 1), keras.losses.SparseCategoricalCrossentropy(ignore_class=-1), True),
        (Y - 1, keras.losses.SparseCategoricalCrossentropy(), False),
        (Y, "categorical_crossentropy", False),
        (one_hot(), "mse", True),
    ],
)
def test_labels_are_compared_with_the_loss_in_each_of_its_forms(labels, loss, ok):
    model = dense()
    model.compile("adam", loss)
    assert tpu.check(model, X, labels).ok == ok


def test_the_first_row_that_is_not_a_number_is_named_also_in_float16_and_in_large_arrays(monkeypatch):
    assert first_bad_row(with_nan()) == 77
    assert first_bad_row(np.array([1, 65504, 65504], "float16")) is None
    assert first_bad_row(np.array([1e38] * 20, "float32")) is None
    assert first_bad_row(np.array([1.0, np.inf])) == 1
    whole = np.zeros((1000, 4), "float32")
    assert first_bad_row(whole, 4000) is None
    whole[400] = np.nan  # 62 rows are looked at, blocks of one
    assert first_bad_row(whole, 4000) is None
    whole[:400] = np.nan
    assert first_bad_row(whole, 4000) == 0
    monkeypatch.setattr("colab_tpu_magic.rewrite.traps.data.not_a_number.MOST_BYTES", 640)
    assert traps(tpu.check(dense(), with_nan(), Y)) == ["nan-data"]


def dataset(tf):
    return tf.data.Dataset.from_tensor_slices((X, Y))


def test_datasets_show_rows_of_many_lengths_a_cache_beyond_the_memory_and_missing_batches(monkeypatch):
    import tensorflow as tf

    lengths = tf.data.Dataset.from_generator(
        lambda: iter(()), output_signature=(tf.TensorSpec((None, None)), tf.TensorSpec((None,), "int32"))
    )
    ragged = tf.data.Dataset.from_tensor_slices((tf.ragged.constant([[1.0], [1.0, 2.0]]), [0, 1])).batch(2)
    sizes = keras.Sequential([keras.layers.Dense(2)])
    sizes.compile("adam", "mse")
    assert "dynamic-shapes" in traps(tpu.check(sizes, lengths))
    assert traps(tpu.check(sizes, ragged))[0] == "dynamic-shapes"
    assert "single-rows" in traps(tpu.check(dense(), dataset(tf)))
    endless = tf.data.Dataset.from_tensors((X, Y)).repeat(10**9).cache()
    assert traps(tpu.check(dense(), endless)) == ["cache-too-large"]
    monkeypatch.setattr(data_traps, "host_bytes", lambda: 10**15)
    assert tpu.check(dense(), endless).ok
    assert tpu.check(dense(), dataset(tf).batch(64).cache()).ok


def test_a_dataset_of_single_rows_is_a_note_and_its_first_axis_is_no_batch():
    import tensorflow as tf

    images = keras.Sequential([keras.Input((28, 28)), keras.layers.Flatten(), keras.layers.Dense(2)])
    images.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    data = tf.data.Dataset.from_tensor_slices((np.zeros((160, 28, 28), "float32"), np.zeros(160, "int32")))
    for model, data_of_rows in ((images, data), (dense(), dataset(tf))):
        (finding,) = tpu.check(model, data_of_rows).findings
        assert (finding.trap, finding.severity) == ("single-rows", "note")
        assert "%%tpu_fit batches them" in finding.message
    assert tpu.check(images, data.batch(32)).ok


def test_a_dataset_is_read_by_its_shapes_alone():
    import tensorflow as tf

    calls = []

    def give():
        calls.append(1)
        yield X[:32], Y[:32]

    signature = (tf.TensorSpec((None, 20)), tf.TensorSpec((None,), "int32"))
    data = tf.data.Dataset.from_generator(give, output_signature=signature)
    report = tpu.check(dense(), data, validation_data=data)
    assert calls == []
    assert report.ok and "only the shapes are read" in report.not_looked_at[0]
    shuffled = dataset(tf).shuffle(200, seed=1).batch(8)
    again = dataset(tf).shuffle(200, seed=1).batch(8)
    tpu.check(dense(), shuffled)
    assert [int(y[0]) for _, y in shuffled] == [int(y[0]) for _, y in again]
    report = tpu.check(dense(), dataset(tf).batch(30).prefetch(1))
    assert traps(report) == (["indivisible-batch"] if session.runtime.replicas == 8 else [])


def test_a_generator_an_iterator_and_a_function_are_not_touched():
    def give():
        while True:
            yield X[:8], Y[:8] + taken.append(1)

    taken = []
    generator = give()
    for data in (generator, iter([(X, Y)])):
        report = tpu.check(dense(), data, steps_per_epoch=5, epochs=2)
        assert "no batch of the training data" in report.not_looked_at[0]
        assert {change.rule for change in report.changes} <= {
            "scope",
            "input-pipeline",
            "jit-compile",
            "steps-per-execution",
        }
    assert tpu.check(dense(), lambda: 1 / 0, steps_per_epoch=5).not_looked_at
    assert taken == []
    report = tpu.check(dense(), generator, epochs=2)
    assert traps(report) == ["refused"] and "read only once" in report.findings[0].message
    unbuilt = keras.Sequential([keras.layers.Dense(2)])
    unbuilt.compile("adam", "mse")
    assert traps(tpu.check(unbuilt, generator)) == ["not-looked-at"]


def test_a_fit_that_would_be_refused_says_so_as_a_finding():
    cases = [
        (dense(), X, Y[:-1], {}, "The data does not match"),
        (dense(), X, None, {}, "no targets"),
        (keras.Sequential([keras.layers.Dense(2)]), X, Y, {}, "before model.compile"),
        (dense(), X, Y, {"epochs": 0}, "epochs=0"),
        (object(), X, Y, {}, "no Keras 3 model"),
    ]
    for model, x, y, more, said in cases:
        report = tpu.check(model, x, y, **more)
        assert traps(report) == ["refused"] and said in report.findings[0].message
        assert report.findings[0].severity == "error"
    with pytest.raises(TypeError, match="epoch"):
        tpu.check(dense(), X, Y, epoch=3)


def state(model):
    return [np.array(keras.ops.convert_to_numpy(one)) for one in (*model.variables, *model.optimizer.variables)]


@pytest.mark.keras_floor
def test_a_check_changes_neither_weights_nor_optimizer_nor_random_numbers_nor_data():
    model, data = dense(), Batches()
    model.fit(X, Y, epochs=1, verbose=0)
    keras.random.normal((1,))
    before, attributes = state(model), dict(vars(model))
    functions = (model.train_function, model.test_function, model.predict_function)
    python, numpy = random.getstate(), np.random.get_state()[1].copy()
    placed = [getattr(variable._value, "sharding", None) for variable in model.variables]
    follows = copy.copy(keras.src.backend.common.global_state.get_global_attribute("global_seed_generator"))
    seed = np.array(keras.ops.convert_to_numpy(follows.state.value))
    for x, y in ((X, Y), (data, None)):
        tpu.check(model, x, y, epochs=3, validation_data=(X, Y))
    assert all(np.array_equal(one, two) for one, two in zip(before, state(model), strict=True))
    assert {name for name, value in vars(model).items() if attributes.get(name) is not value} <= {"_jit_compile"}
    assert functions == (model.train_function, model.test_function, model.predict_function)
    assert placed == [getattr(variable._value, "sharding", None) for variable in model.variables]
    assert random.getstate() == python and (np.random.get_state()[1] == numpy).all()
    assert np.array_equal(seed, keras.ops.convert_to_numpy(follows.state.value))
    assert data.asked == 0
    assert int(model.optimizer.iterations) == 7


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "colab_tpu_magic")
    shell.user_ns.update(keras=keras, x=X, y=Y, tpu=tpu)
    yield shell
    shell.run_line_magic("unload_ext", "colab_tpu_magic")
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_cell_shows_nothing_and_trains_nothing(name, shell, capsys):
    runs = len(session.runs)
    before = dict(shell.user_ns)
    shell.run_cell_magic("tpu_check", "", CLEAN[name])
    assert capsys.readouterr().out == ""
    assert len(session.runs) == runs
    assert shell.user_ns == before


@pytest.mark.keras_floor
def test_a_cell_is_run_with_its_fits_caught_and_everything_put_back(shell, capsys):
    model = dense()
    shell.user_ns["model"] = model
    compiled = {name: getattr(model, name) for name in ("optimizer", "loss")}
    before, fit = state(model), keras.Model.fit
    shell.run_cell_magic(
        "tpu_check",
        "",
        "import os\nos.environ['FOR_A_CHECK'] = '1'\nmodel.compile('sgd', 'sparse_categorical_crossentropy', metrics=['accuracy'])\n"
        "history = model.fit(x, y + 1, epochs=2, validation_split=0.1)\nloss, accuracy = model.evaluate(x, y)\n"
        "print(sorted(history.history), history.epoch, loss == loss, model.predict(x).shape, model.evaluate(x, y, return_dict=True).keys())",
    )
    said = capsys.readouterr().out
    assert (
        "['accuracy', 'loss', 'val_accuracy', 'val_loss'] [0, 1] False (200, 2) dict_keys(['loss', 'accuracy'])" in said
    )
    assert "Error: The labels go from 1 to 2" in said and "Type: y = y - 1" in said
    assert "loss" not in shell.user_ns and "FOR_A_CHECK" not in __import__("os").environ
    assert model.loss is compiled["loss"] and model.optimizer is compiled["optimizer"]
    assert all(np.array_equal(one, two) for one, two in zip(before, state(model), strict=True))
    assert keras.Model.fit is fit
    model.fit(x=X, y=Y, verbose=0)


def test_a_cell_whose_text_shows_an_error_is_not_run(shell, capsys):
    shell.run_cell_magic("tpu_check", "", "ran = True\nopt = tf.train.AdamOptimizer()\nmodel.fit(x, y)")
    said = capsys.readouterr().out
    assert "Error: Line 3: tf.train.AdamOptimizer" in said and "the cell was not run" in said
    assert "ran" not in shell.user_ns


def test_a_cell_that_stops_says_where_and_why(shell, capsys):
    shell.user_ns["model"] = dense()
    shell.run_cell_magic("tpu_check", "", "model.fit(x, y)\nassert model.evaluate(x, y)[1] > 0.9")
    said = capsys.readouterr().out
    assert "Note: Line 3: AssertionError" in said and "Error" not in said.replace("AssertionError", "")
    shell.run_cell_magic(
        "tpu_check", "", "raise ValueError('expected min_ndim=2 is incompatible with the layer: expected axis')"
    )
    assert "Error: Line 2: x does not have the shape" in capsys.readouterr().out
    shell.run_cell_magic("tpu_check", "", "1 / 0")
    said = capsys.readouterr().out
    assert "Error: Line 2: ZeroDivisionError: division by zero. The cell ended here, before its first fit." in said
    shell.run_cell_magic("tpu_check", "", "a = 1")
    assert "called fit, evaluate or predict of no Keras model" in capsys.readouterr().out


def test_a_check_inside_a_training_cell_looks_as_it_does_outside():
    with training():
        assert traps(tpu.check(dense(), X, Y + 1, epochs=2)) == ["labels-out-of-range"]


def test_a_line_checks_names_or_a_call_and_lists_rules_when_asked(shell, capsys):
    shell.user_ns["model"] = dense()
    shell.run_line_magic("tpu_check", "model x y --validation x y")
    shell.run_line_magic("tpu_check", "model.fit(x, y, epochs=2)")
    assert capsys.readouterr().out == ""
    shell.run_line_magic("tpu_check", "model x y --rules")
    assert "input-pipeline" in capsys.readouterr().out
    shell.run_line_magic("tpu_check", "--no input-pipeline model x y --rules")
    assert "input-pipeline" not in capsys.readouterr().out
    shell.run_line_magic("tpu_check", "wrong x y".replace("wrong", "tpu"))
    assert "is no Keras 3 model" in capsys.readouterr().out


def test_a_cell_that_stops_before_its_fit_still_shows_what_its_text_does(shell, capsys):
    cell = "save = keras.callbacks.ModelCheckpoint('best.keras', save_freq=100)\nnobody_knows_this"
    shell.run_cell_magic("tpu_check", "", cell)
    told = capsys.readouterr().out
    assert "save_freq" in told and "NameError: name 'nobody_knows_this' is not defined" in told


def test_quotes_of_a_web_page_are_named(shell):
    with pytest.raises(UsageError, match="(?s)Line 2 of the cell is no Python.*%%tpu_migrate"):
        shell.run_cell_magic("tpu_check", "", "name = ‘digits’")
