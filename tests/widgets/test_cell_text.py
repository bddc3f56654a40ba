"""The cell that trains what a run of the panel trained: its text, and that it does."""

from __future__ import annotations

import ast

import pytest

pytest.importorskip("ipywidgets")

import keras
import numpy as np
from IPython.core.interactiveshell import InteractiveShell

from colab_tpu_magic.session import session
from colab_tpu_magic.training.trials import OPTIMIZERS, TrialSettings
from colab_tpu_magic.widgets.cell_text import MAKE_OPTIMIZER, cell_text

from .panels import data, panel_of, small_model

START = "# From the start: run the cell that makes the model once more before this one."


@pytest.fixture
def shell():
    """A shell with the magics."""
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "colab_tpu_magic")
    yield shell
    shell.run_line_magic("unload_ext", "colab_tpu_magic")
    InteractiveShell.clear_instance()


def text_of(model, names, settings=None, **arguments):
    return cell_text(settings or TrialSettings(), model, arguments, {"keras": keras, **names})


def test_values_that_differ_from_the_defaults_become_options():
    x, y = data()
    model = small_model()
    names = {"net": model, "images": x, "labels": y}
    settings = TrialSettings(epochs=7, batch_size=64, learning_rate=0.01, precision="bfloat16", seed=3)
    assert text_of(model, names, settings, x=x, y=y).splitlines() == [
        "%%tpu_fit --batch-size 64 --learning-rate 0.01 --precision bfloat16 --seed 3",
        START,
        "net.fit(images, labels, epochs=7)",
    ]
    assert text_of(model, names, TrialSettings(proceed=True, seed=None), x=x, y=y) == (
        "%%tpu_fit\nnet.fit(images, labels, epochs=5)"
    )


def test_other_arguments_are_written_as_values_or_names():
    x, y = data()
    model = small_model()
    stop = keras.callbacks.EarlyStopping()
    text = text_of(
        model,
        {"model": model, "x": x, "y": y, "x_val": x[:10].copy(), "_hidden": x, "stop": stop},
        x=x,
        y=y,
        validation_data=(x, y),
        validation_freq=2,
        validation_split=0.25,
        class_weight={0: 1.0, 1: 2.5},
        callbacks=[stop],
        shuffle=False,
    )
    assert text.splitlines()[-1] == (
        "model.fit(x, y, epochs=5, validation_data=(x, y), validation_freq=2, validation_split=0.25, "
        "class_weight={0: 1.0, 1: 2.5}, callbacks=[stop], shuffle=False)"
    )


def test_a_value_that_no_variable_holds_is_asked_for_and_never_another_variables_name():
    x, y = data()
    model = small_model()
    text = text_of(model, {"model": model, "x": x, "y": y}, x=x[:100], y=y[:100], validation_data=(x, y[:]))
    assert text.splitlines()[-2:] == [
        "# To be put in, no variable of the notebook holds it: your_x, your_y, validation_data_1",
        "model.fit(your_x, your_y, epochs=5, validation_data=(x, validation_data_1))",
    ]


def test_another_optimizer_is_compiled_with_what_the_model_was_compiled_with():
    x, y = data()
    model = small_model(weighted_metrics=["accuracy"])
    text = text_of(model, {"model": model, "x": x, "y": y}, TrialSettings(optimizer="sgd, momentum 0.9"), x=x, y=y)
    assert text.splitlines()[2] == (
        "model.compile(keras.optimizers.SGD(momentum=0.9), 'sparse_categorical_crossentropy', "
        "metrics=['accuracy'], weighted_metrics=['accuracy'])"
    )


def test_a_notebook_without_keras_gets_its_import():
    model = small_model()
    text = cell_text(TrialSettings(optimizer="adam"), model, {"x": data()[0]}, {"model": model})
    assert "import keras" in text.splitlines()
    assert "import keras" not in cell_text(TrialSettings(), model, {"x": data()[0]}, {"model": model})


def test_every_optimizer_of_the_form_can_be_written():
    assert set(MAKE_OPTIMIZER) | {"as compiled"} == set(OPTIMIZERS)
    for name, text in MAKE_OPTIMIZER.items():
        written, made = eval(text), OPTIMIZERS[name]()
        assert type(written) is type(made)
        assert written.get_config() | {"name": ""} == made.get_config() | {"name": ""}


def test_quotes_and_odd_names_stay_python():
    x, y = data()
    model = small_model()
    text = text_of(model, {"model": model, "x": x, "y": y, 'a "b"': x}, x=x, y=y, mode='it\'s "so"\n%%html')
    body = "\n".join(text.splitlines()[1:])
    (call,) = [node for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Call)]
    assert {one.arg: one.value.value for one in call.keywords}["mode"] == 'it\'s "so"\n%%html'


@pytest.mark.usefixtures("one_device")
@pytest.mark.parametrize(
    ("settings", "metrics"),
    [
        ({}, ["accuracy"]),
        ({"batch_size": 50, "learning_rate": 0.02, "seed": 7}, ["accuracy"]),
        ({"optimizer": "rmsprop"}, None),
        ({"optimizer": "sgd", "learning_rate": 0.5, "precision": "bfloat16"}, "objects"),
    ],
)
def test_the_copied_cell_runs_and_gives_the_loss_of_the_panels_run(shell, settings, metrics):
    x, y = data()

    def model():
        objects = [keras.metrics.SparseCategoricalAccuracy(name="right"), "accuracy"]
        return small_model(
            loss=keras.losses.SparseCategoricalCrossentropy()
            if metrics == "objects"
            else "sparse_categorical_crossentropy",
            metrics=objects if metrics == "objects" else metrics,
        )

    shell.user_ns.update(net=model(), x=x, y=y, part=(x[:100], y[:100]))
    panel = panel_of(shell.user_ns["net"], x=x, y=y, validation_data=shell.user_ns["part"], shell=shell)
    run = panel.train(epochs=2, **settings)
    panel.cell_button.value = True
    shell.user_ns["net"] = panel.trials.model
    text = panel.cell_area.value
    assert panel.cell_area.layout.display is None
    assert "validation_data=part" in text

    shell.user_ns["net"] = model()  # what the comment in the cell asks for
    shell.run_cell(text).raise_error()
    copied = session.last_run
    assert copied is not run
    assert copied.history == run.history
    for ours, theirs in zip(shell.user_ns["net"].get_weights(), panel.trials.model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.usefixtures("one_device")
def test_the_cell_follows_the_form_while_it_is_shown(shell):
    model = small_model()
    shell.user_ns["model"] = model
    panel = panel_of(model, shell=shell)
    assert panel.cell_area.layout.display == "none"
    panel.cell_button.value = True
    panel.form.epochs.value = 9
    assert "epochs=9" in panel.cell_area.value
    assert panel.cell_area.rows == len(panel.cell_area.value.splitlines()) + 1
    panel.cell_button.value = False
    assert panel.cell_area.layout.display == "none"
