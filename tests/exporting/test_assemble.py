"""A run and the cells it depends on become one document, or one clear message says why not."""

from __future__ import annotations

import ast
from dataclasses import replace

import nbformat
import pytest

from colab_tpu_magic.errors import ExportError
from colab_tpu_magic.exporting.assemble import document_of
from colab_tpu_magic.exporting.notebook import notebook_of
from colab_tpu_magic.rewrite.change import Change
from colab_tpu_magic.training.call_site import PANEL, CallSite
from colab_tpu_magic.training.run import Run

from .notebooks import BATCH, FIT, SETUP, exported, run_in, script, transform

SCOPE = Change("scope", "Model on every replica", "one device", "8 replicas", "Why.", "source", "--no scope")


def test_script_is_python_without_a_word_of_this_package():
    text = script(["%load_ext colab_tpu_magic\n%tpu_connect", "import colab_tpu_magic as tpu", SETUP, FIT])
    ast.parse(text)
    assert "colab_tpu_magic" not in text
    assert "tpu_connect" not in text


def test_only_what_the_run_needs_comes_along_in_the_order_of_the_notebook():
    text = script(["a = 1", SETUP, "b = x * 2\nplot(b)", "x[0] = 1", FIT])
    kept = text[text.index("# Cell [2]") :]
    assert [line for line in kept.splitlines() if line.startswith("# Cell")] == [
        "# Cell [2] of the notebook.",
        "# Cell [4] of the notebook.",
        "# Cell [5] of the notebook.",
    ]
    assert "b = x" not in text
    assert "a = 1" not in text
    assert kept.index("x, y = ") < kept.index("x[0] = 1") < kept.index("model.fit(")


def test_seed_of_the_cell_stands_before_its_code():
    text = script([SETUP, FIT], seed=0)
    assert "keras.utils.set_random_seed(0)\n\nhistory = model.fit(" in text


def test_a_run_without_any_seed_says_that_its_weights_are_drawn_anew():
    assert "are drawn anew" in script([SETUP, FIT.replace(" --seed 0", "")], seed=None)


def test_a_notebook_that_seeds_itself_is_told_nothing():
    text = script(["import keras\nkeras.utils.set_random_seed(4)", SETUP, FIT.replace(" --seed 0", "")], seed=None)
    assert "are drawn anew" not in text
    assert "set_random_seed(4)" in text


def test_earlier_training_of_the_same_model_comes_along_with_its_own_changes():
    cells = [SETUP, "%%tpu_fit --seed 1\nmodel.fit(x, y, epochs=2)", "model.fit(x, y)", FIT]
    runs = [run_in(cells, 2, place=1, batch_size=24, shuffle_seed=1, seed=1), run_in(cells, 4, place=2)]
    text = exported(cells, *runs).script()
    assert "full_batches(x, y, batch_size=24, seed=1)" in text
    assert "full_batches(x, y, batch_size=48, seed=0)" in text
    assert "\n# Cell [3] of the notebook.\nmodel.fit(x, y)\n" in text
    assert "set_random_seed(1)" in text


def test_a_function_that_fits_is_rewritten_where_it_stands():
    cells = [SETUP, "def train(net):\n    return net.fit(x, y, epochs=2)", "%%tpu_fit --seed 0\nhistory = train(model)"]
    text = exported(cells, run_in(cells, 3, caller=2)).script()
    assert "def train(net):\n    return net.fit(\n        full_batches(x, y, batch_size=48, seed=0)," in text
    assert text.endswith("history = train(model)\n")


def test_reading_a_model_on_jax_replicas_is_done_without_the_distribution():
    cells = [SETUP, "%%tpu_fit --seed 0\nmodel.predict(x[:3])\nmodel.fit(x, y)\nmodel.evaluate(x, y)\nmodel.predict(x)"]
    text = exported(cells, run_in(cells, 2, kind="tpu", replicas=8)).script().partition("set_random_seed(0)\n\n")[2]
    off, on = "keras.distribution.set_distribution(None)", "keras.distribution.set_distribution(data_parallel)"
    lines = [line.partition("  #")[0] for line in text.splitlines() if not line.startswith((" ", ")"))]
    assert lines == [off, "model.predict(x[:3])", on, "model.fit(", off, "model.evaluate(x, y)", "model.predict(x)"]


def test_a_model_that_a_function_trains_is_read_without_the_distribution_too():
    cells = [
        SETUP,
        "def train(net):\n    return net.fit(x, y, epochs=2)",
        "%%tpu_fit --seed 0\ntrain(model)\nmodel.predict(x)",
    ]
    text = exported(cells, run_in(cells, 3, caller=2, kind="tpu", replicas=8)).script()
    assert "train(model)\nkeras.distribution.set_distribution(None)" in text


def test_reading_a_model_on_tensorflow_replicas_is_told_to_want_an_even_first_batch():
    cells = [SETUP, FIT + "\nmodel.predict(x[:3])"]
    values = {"backend": "tensorflow", "kind": "tpu", "replicas": 2}
    assert "wants a first batch that divides" in exported(cells, run_in(cells, 2, **values)).notes[0]
    assert exported([SETUP, FIT], run_in([SETUP, FIT], 2, **values)).notes == ()


def test_old_code_that_is_no_python_today_leaves_the_text_that_ran():
    run = run_in([SETUP, FIT], 2)
    text = document_of(run, [run], ["", SETUP, "%%tpu_fit --seed 0\nprint ‘old’"], transform).script()
    assert "set_random_seed(0)\n\nhistory = model.fit(\n    full_batches(x, y, " in text


def test_the_call_of_our_own_fit_becomes_the_call_of_the_model():
    cells = [SETUP, "import colab_tpu_magic as tpu\nrun = tpu.fit(model, x, y, epochs=2, options=tpu.FitOptions())"]
    text = script(cells, seed=None)
    assert "run = model.fit(\n    full_batches(x, y, batch_size=48, seed=0),\n" in text
    assert "tpu" not in text[text.index("# Cell [1]") :]


def test_text_that_ran_in_place_of_old_code_is_what_is_written():
    cells = [SETUP, "%%tpu_fit --seed 0\nmodel.fit_generator(x)"]
    newer = [SETUP, "%%tpu_fit --seed 0\nmodel.fit(x, y)"]
    run = run_in(newer, 2)
    text = document_of(run, [run], ["", *cells], transform).script()
    assert "model.fit(\n    full_batches(x, y, " in text
    assert "fit_generator" not in text


def test_a_name_that_no_cell_makes_is_told():
    with pytest.raises(ExportError, match=r"^Run 1 needs y, and no cell in this kernel's history makes it"):
        script([SETUP.replace("x, y =", "x, z ="), FIT])


@pytest.mark.parametrize(
    ("made", "told", "line"),
    [
        ("y = !ls *.py", "y = !ls *.py", "y = subprocess.getoutput('ls *.py').splitlines()"),
        ("y = %sx ls", "y = %sx ls", "y = subprocess.getoutput('ls').splitlines()"),
        ("y = %who_ls", "y = %who_ls", "y = ..."),
    ],
)
def test_a_name_that_a_notebook_command_made_is_told_with_python_for_it(made, told, line):
    if made in transform(made):
        pytest.skip("IPython 7.34 knows no y = !ls on Python 3.12 and later.")
    cells = [SETUP.replace("x, y =", "x, z ="), made, FIT]
    with pytest.raises(ExportError) as caught:
        script(cells)
    assert f"which a notebook command made in cell 2: {told}." in str(caught.value)
    assert f"{line} in a cell" in str(caught.value)


PROMISE = "It gives the history of the run"
SEEDED = "import keras\nkeras.utils.set_random_seed(4)"


@pytest.mark.parametrize(
    ("values", "promised"),
    [
        ({}, True),
        ({"changes": (replace(BATCH, rule="normalise-on-device"),)}, True),
        ({"changes": (replace(BATCH, rule="new-rule"),)}, False),
        ({"full_batches": False}, False),
        ({"validates_on_the_same": True}, False),
    ],
)
def test_the_header_promises_the_history_only_where_the_script_gives_it(values, promised):
    text = script([SEEDED, SETUP, FIT], **values)
    assert (PROMISE in text) == promised
    assert ("It does not give the history of the run: what it does otherwise" in text) != promised


def test_runs_on_other_devices_or_left_out_are_not_promised():
    cells = [SEEDED, SETUP, FIT, FIT]
    runs = [run_in(cells, 3, place=1, kind="simulated", replicas=8), run_in(cells, 4, place=2)]
    assert PROMISE not in exported(cells, *runs).script()


@pytest.mark.parametrize(
    ("named", "note"), [('x["price"]', ""), ("x", "so the figures of outputs can have other numbers in their names")]
)
def test_outputs_that_nobody_named_are_told_to_have_other_numbers(named, note):
    cells = [SETUP + "\nnames = " + named, FIT.replace("(x, y", "(names, y")]
    run = run_in(cells, 2)
    run.history = {"loss": [1.0], "val_loss": [1.0], "price_loss": [1.0], "val_price_loss": [1.0]}
    assert "".join(exported(cells, run).notes).count(note or "numbers") == bool(note)


def test_a_fit_outside_of_ipython_is_told():
    run = run_in([SETUP, FIT], 2, site=CallSite(elsewhere="train.py"), execution=0)
    with pytest.raises(ExportError, match=r"not run in a cell of IPython or Jupyter[\s\S]*%tpu_export FILE.py"):
        document_of(run, [run], [], transform)


def test_a_fit_that_a_library_called_is_told():
    cells = [SETUP + "\nfrom keras_tuner import search", "%%tpu_fit\nsearch(model)"]
    site = CallSite("search(model)", elsewhere="/lib/keras_tuner/tuner.py")
    run = run_in([SETUP, FIT], 2, site=site)
    with pytest.raises(ExportError, match=r"code in /lib/keras_tuner/tuner.py, whose text is not in this notebook"):
        document_of(run, [run], ["", *cells], transform)


def test_a_run_of_the_panel_is_told_which_cell_to_run():
    run = run_in([SETUP, FIT], 2, site=CallSite(elsewhere=PANEL))
    with pytest.raises(ExportError, match="the %%tpu_fit cell that the panel gives to copy"):
        document_of(run, [run], ["", SETUP, FIT], transform)


def test_a_run_that_knows_nothing_is_told():
    with pytest.raises(ExportError, match="does not know how it was made"):
        document_of(Run("CPU", number=3), [], [], transform)


def test_a_run_that_was_stopped_says_so():
    run = run_in([SETUP, FIT], 2, status="stopped")
    run.epoch = 1
    assert exported([SETUP, FIT], run).notes == ("Run 1 was stopped in epoch 1; the script trains to the end.",)


def test_an_earlier_run_on_other_replicas_is_told():
    cells = [SETUP, FIT, FIT]
    runs = [run_in(cells, 2, place=1, kind="simulated", replicas=8), run_in(cells, 3, place=2)]
    assert "the script trains it where the last one trained" in exported(cells, *runs).notes[0]


def test_the_notebook_is_valid_and_has_a_cell_for_each_part():
    document = exported([SETUP, FIT], run_in([SETUP, FIT], 2, changes=(BATCH, SCOPE), kind="tpu", replicas=8))
    notebook = nbformat.reads(notebook_of(document), as_version=4)
    nbformat.validate(notebook)
    titles = [cell.source.splitlines()[0] for cell in notebook.cells if cell.cell_type == "markdown"]
    assert titles == [f"# {document.title}", "## Setup", "## Helpers", "## From cell 1", "## Training"]
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    ast.parse(code)
    assert "# Global batch size: 32 → 48. Fill the replicas." in code


def test_a_title_with_quotes_stays_a_string():
    document = replace(exported([SETUP, FIT], run_in([SETUP, FIT], 2)), title='A """quoted""" \\ run')
    assert ast.get_docstring(ast.parse(document.script())).startswith("A '''quoted''' / run")
