"""One fit becomes the plain call that trains the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from colab_tpu_magic.errors import ExportError
from colab_tpu_magic.rewrite.change import Change
from colab_tpu_magic.training.recipe import DataFacts

from .notebooks import BATCH, FIT, SETUP, exported, run_in, script

STREAM = DataFacts("tf.data.Dataset", None, 7, batches=15)


def training(fit: str, **values: Any) -> str:
    """Return the script's lines from the seed on."""
    return script([SETUP, f"%%tpu_fit --seed 0\n{fit}"], **values).partition("set_random_seed(0)\n\n")[2]


def test_arrays_become_full_batches_with_the_seed_of_the_run():
    assert training("history = model.fit(x, y, epochs=2)  # mine", changes=(BATCH,)) == (
        "history = model.fit(\n"
        "    # Global batch size: 32 → 48. Fill the replicas.\n"
        "    full_batches(x, y, batch_size=48, seed=0),\n"
        "    shuffle=False,\n"
        "    steps_per_epoch=3,\n"
        "    epochs=2,\n"
        ")  # mine\n"
    )


@pytest.mark.parametrize(
    ("fit", "values", "expected"),
    [
        ("model.fit(x=x, y=y)", {}, "full_batches(x, y, batch_size=48, seed=0)"),
        ("model.fit(x, y, sample_weight=w())", {"kinds": ("array",) * 3}, "full_batches(x, y, w(), batch_size=48"),
        ("model.fit(x, y)", {"kinds": ("other", "array", "")}, "full_batches(np.asarray(x), y, "),
        ("model.fit(x, y)", {"data": DataFacts("arrays", 100, dtypes=("float32", ""))}, '(x.astype("float32"), y, '),
        ("model.fit(x, y, shuffle=False)", {"shuffle": False}, "full_batches_in_order(x, y, batch_size=48)"),
        ("model.fit(x, y)", {"epochs": 7}, "epochs=7,"),
        ("model.fit(x, y, callbacks=stop, verbose=2)", {}, "    callbacks=stop,\n"),
        ("model.fit(x, y, class_weight={0: 2.0})", {}, "class_weight={0: 2.0},"),
        ("model.fit(x, y, initial_epoch=1)", {}, "initial_epoch=1,"),
        ("model.fit(data)", {"data": STREAM}, "    data.repeat().rebatch(48, drop_remainder=True),\n"),
        (
            "model.fit(data)",
            {"data": DataFacts("tf.data.Dataset", None, 7, infinite=True)},
            "    data.rebatch(48, drop_remainder=True),\n",
        ),
        (
            "model.fit(data)",
            {"data": STREAM, "steps_per_epoch": None},
            "data.unbatch().concatenate(data.take(1).unbatch().repeat().take(47)).batch(48, drop_remainder=True),",
        ),
        (
            "model.fit(data)",
            {"data": DataFacts("tf.data.Dataset", None, 7, dtypes=("float32", ""), batches=3)},
            '.map(lambda x, y: (tf.cast(x, "float32"), y)),',
        ),
        (
            "model.fit(data)",
            {"data": DataFacts("PyDataset", None, 7, batches=3)},
            "full_batches_of(lambda: shuffled(data), batch_size=48)",
        ),
        (
            "model.fit(data(), epochs=2, initial_epoch=1)",
            {"data": DataFacts("PyDataset", None, 7, batches=3), "backend": "tensorflow"},
            "full_batches_of(lambda data=data(): shuffled(data), batch_size=48, most=3),",
        ),
        (
            "model.fit(data, shuffle=False)",
            {"data": DataFacts("PyDataset", None, 7, batches=3), "shuffle": False},
            "full_batches_of(lambda: in_order(data), batch_size=48),",
        ),
        (
            "model.fit(data)",
            {"data": DataFacts("generator", None, 7, once=True)},
            "full_batches_of(replayed(data), batch_size=48, forever=False, most=3)",
        ),
    ],
)
def test_each_form_of_data_has_its_text(fit, values, expected):
    prefix = "w = data = stop = None\n"
    text = script([SETUP, prefix, f"%%tpu_fit --seed 0\n{fit}"], **values)
    compile(text, "script", "exec")
    assert expected in text


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "validation_data=(x[80:], y[80:]),\n    validation_batch_size=48,"),
        ({"kind": "tpu", "replicas": 4}, "validation_data=(x[80:], y[80:]),\n    validation_batch_size=48,"),
        (
            {"kind": "tpu", "replicas": 8, "data": DataFacts("arrays", 80)},
            "callbacks=[ValidateEveryRow((x[80:], y[80:]), batch_size=48)],",
        ),
        ({"backend": "tensorflow", "kind": "tpu", "replicas": 8}, "validation_data=(x[80:], y[80:]),"),
    ],
)
def test_a_split_is_cut_off_before_the_shuffle_and_every_row_is_validated(values, expected):
    settings = {
        "validation": DataFacts("arrays", 20),
        "validation_split_at": 80,
        "validation_batch_size": 48,
    } | values
    text = training("model.fit(x, y, epochs=2, validation_split=0.2)", **settings)
    assert "full_batches(x[:80], y[:80], batch_size=48, seed=0)" in text
    assert expected in text
    assert "validation_split" not in text


def test_data_that_is_made_in_the_call_is_made_once():
    text = training(
        "model.fit(x + 1, y, validation_split=0.2)",
        validation=DataFacts("arrays", 20),
        validation_split_at=80,
        validation_batch_size=48,
    )
    assert text.startswith("all_x = x + 1\nmodel.fit(\n    full_batches(all_x[:80], y[:80], ")
    assert "validation_data=(all_x[80:], y[80:])," in text


@pytest.mark.parametrize(
    ("own", "form", "expected"),
    [
        ("[stop(), log()]", "list", "stop(), log()]"),
        ("mine", "list", "*mine]"),
        ("mine + [log()]", "list", "*(mine + [log()])]"),
        ("mine", "other", "*keras.tree.flatten(mine or [])]"),
        ("[stop(), mine]", "other", "*keras.tree.flatten([stop(), mine] or [])]"),
    ],
)
def test_own_callbacks_come_after_the_validation_in_one_flat_list(own, form, expected):
    text = script(
        [SETUP + "\nstop = log = mine = print", f"model.fit(x, y, validation_data=(x, y), callbacks={own})"],
        kind="tpu",
        replicas=8,
        validation=DataFacts("arrays", 101),
        validation_batch_size=48,
        callbacks=form,
    )
    assert f"callbacks=[ValidateEveryRow((x, y), batch_size=48), {expected}," in text
    assert "validation_data=" not in text


def test_a_variable_that_held_no_callbacks_in_one_run_and_some_in_another_is_flattened():
    cells = [SETUP + "\nmine = None", "%%tpu_fit --seed 0\nfor lot in (1, 2):\n    model.fit(x, y, callbacks=mine)"]
    values = {"averaged_statistics": True}

    def text(*forms: str) -> str:
        return exported(cells, *(run_in(cells, 2, place=at, callbacks=form, **values) for at, form in enumerate(forms)))

    assert "callbacks=[AverageStatistics()]," in text("", "").script()
    assert "callbacks=[AverageStatistics(), *keras.tree.flatten(mine or [])]," in text("", "list").script()


def test_settings_stand_before_the_fit_with_their_reasons():
    changes = tuple(
        Change(rule, rule.title(), "old", "new", "Why so.", "source", "switch")
        for rule in ("learning-rate", "precision", "jit-compile", "steps-per-execution")
    )
    text = training(
        "model.fit(x, y)",
        changes=changes,
        learning_rate=0.002,
        precision="bfloat16",
        last_layers=(0,),
        jit_compile=False,
        steps_per_execution=4,
    )
    assert text.startswith(
        "# Jit-Compile: old → new. Why so.\n"
        "model.jit_compile = False\n"
        "# Learning-Rate: old → new. Why so.\n"
        "model.optimizer.learning_rate = 0.002\n"
        "# Precision: old → new. Why so.\n"
        'compute_in("mixed_bfloat16", model, float32_layers=[0])\n'
        "# Steps-Per-Execution: old → new. Why so.\n"
        "model.steps_per_execution = 4\n"
        "model.fit(\n"
    )
    assert "own_rate" not in text


def test_gradients_are_divided_where_the_run_divided_them():
    change = Change("loss-scaling", "Loss", "a mean", "gradients ÷ 2", "Why so.", "source", "switch")
    values = {"backend": "tensorflow", "kind": "simulated", "replicas": 2, "changes": (change,)}
    text = script(["import keras\nkeras.utils.set_random_seed(4)", SETUP, FIT], **values)
    assert "# Loss: a mean → gradients ÷ 2. Why so.\ndivide_gradients(model, 2)\nhistory = model.fit(\n" in text
    assert "import tensorflow as tf" in text
    assert "It gives the history of the run" in text
    single = replace(change, before="own: one number for a replica's rows", after="÷ 2")
    text = script([SETUP, FIT], **{**values, "changes": (single,)})
    assert "divide_gradients(model, 2)\n" in text and "are 2 times the run's" in text.replace("\n# ", " ").replace(
        "\n", " "
    )
    assert "It gives the history of the run" not in text
    cells = [SETUP, FIT, FIT]
    twice = exported(cells, run_in(cells, 2, place=1, **values), run_in(cells, 3, place=2, **values)).script()
    assert twice.count("divide_gradients(model, 2)\n") == twice.count("divide_gradients(model, 1)  # as it was\n") == 2


def test_settings_are_put_back_when_more_is_trained():
    cells = [SETUP, "%%tpu_fit --seed 0\nfor lot in (1, 2):\n    model.fit(x, y)"]
    rate = Change("learning-rate", "Learning rate", "1", "2", "Why.", "source", "switch")
    runs = [run_in(cells, 2, place=place, learning_rate=2.0, changes=(rate,)) for place in (1, 2)]
    text = exported(cells, *runs).script()
    assert (
        "    own_rate = float(keras.ops.convert_to_numpy(model.optimizer.learning_rate))\n"
        "    # Learning rate: 1 → 2. Why.\n"
        "    model.optimizer.learning_rate = 2.0\n"
        "    model.fit(\n"
        "        full_batches("
    ) in text
    assert text.endswith("    )\n    model.optimizer.learning_rate = own_rate\n")


def test_each_fit_of_a_loop_has_its_own_order_of_rows():
    cells = [SETUP, "%%tpu_fit\nfor lot in (1, 2):\n    model.fit(x, y)"]
    runs = [run_in(cells, 2, place=place, seed=None, shuffle_seed=10 * place) for place in (1, 2)]
    text = exported(cells, *runs).script()
    assert "shuffle_seeds = iter([10, 20])" in text
    assert "full_batches(x, y, batch_size=48, seed=next(shuffle_seeds))," in text


def test_one_line_with_two_settings_is_refused():
    cells = [SETUP, "%%tpu_fit\nfor size in (1, 2):\n    model.fit(x, y, batch_size=size)"]
    runs = [run_in(cells, 2, place=place, batch_size=place) for place in (1, 2)]
    with pytest.raises(ExportError, match=r"Line 2 of cell 2 trained with different settings \(runs 1 and 2\)"):
        exported(cells, *runs)


@pytest.mark.parametrize("fit", ["model.fit(*data)", "model.fit(x, y, **settings)"])
def test_hidden_arguments_are_refused(fit):
    with pytest.raises(ExportError, match=r"takes its arguments from \* or \*\*"):
        script([SETUP + "\ndata, settings = (), {}", fit])


def test_a_setting_without_a_line_for_it_is_refused():
    with pytest.raises(ExportError, match="shares its line with other code"):
        training("a = 1; model.fit(x, y)", learning_rate=0.1)


def test_changes_that_are_not_written_out_are_told():
    change = Change("new-rule", "A new rule", "old", "new", "Why so.", "source", "switch")
    document = exported([SETUP, FIT], run_in([SETUP, FIT], 2, changes=(change,)))
    assert document.notes == ("A new rule (old → new) is not written out: Why so.",)


def test_batches_as_they_come_are_told_to_differ():
    document = exported([SETUP, FIT], run_in([SETUP, FIT], 2, full_batches=False))
    assert "    x,\n    y,\n    batch_size=48,\n    epochs=2,\n" in document.script()
    assert "the history is not the same" in document.notes[0]


@pytest.mark.parametrize(
    ("done", "asked", "step", "status", "steps"),
    [
        (2, 2, 18, "completed", 9),
        (2, 5, 19, "completed", 9),  # stopped by a callback
        (1, 1, 9, "completed", 9),
        (2, 2, 19, "completed", None),
        (1, 2, 4, "stopped", None),
        (0, 2, 0, "completed", None),
    ],
)
def test_a_pass_whose_end_tensorflow_replicas_would_run_into_has_the_length_of_the_run(
    done, asked, step, status, steps
):
    function = DataFacts("generator function", None, 40, call="()")
    cells = [SETUP, "data = print", f"%%tpu_fit\nmodel.fit(data, epochs={asked})"]
    values = {"backend": "tensorflow", "kind": "simulated", "replicas": 2, "steps_per_epoch": None, "data": function}
    run = run_in(cells, 3, epochs=asked, own_epochs=asked, status=status, **values)
    run.step, run.history = step, {"loss": [1.0] * done}
    document = exported(cells, run)
    made = f"forever=False).apply(tf.data.experimental.assert_cardinality({steps})),"
    assert (made in document.script()) == (steps is not None)
    assert any("one too many" in note for note in document.notes) == (steps is None)
    run.recipe = replace(run.recipe, backend="jax")
    assert "assert_cardinality" not in exported(cells, run).script()
