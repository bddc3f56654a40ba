"""What raised or was refused, and fits of other models, stay out of the script; the header says what the seeds give."""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell

from colab_tpu_magic.exporting.assemble import document_of
from colab_tpu_magic.exporting.slicing import sliced
from colab_tpu_magic.session import session

from .notebooks import FIT, SETUP, cell, exported, run_in, script, transform

MODEL = 'model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile("sgd", "mse")'


def test_a_refused_cell_leaves_its_definitions_and_not_its_fit():
    cells = [SETUP, f"%%tpu_fit --seed 0\n{MODEL}\nz = 3\nmodel.fit(x, y[:3])", FIT]
    text = exported(cells, run_in(cells, 3)).script()
    assert "y[:3]" not in text
    assert "z = 3" not in text
    assert text.index("# Cell [2]") < text.index('model.compile("sgd", "mse")') < text.index("# Cell [3]")


def test_a_run_that_failed_stays_out_with_its_cell():
    cells = [SETUP, "%%tpu_fit --seed 0\nh = model.fit(x, -y, epochs=2)\nprint(h)", FIT]
    text = exported(cells, run_in(cells, 2, status="failed"), run_in(cells, 3, place=2)).script()
    assert "-y" not in text
    assert "# Cell [2]" not in text


def test_a_refused_call_of_a_function_that_fits_stays_out():
    cells = [
        SETUP,
        "def train(m, y):\n    return m.fit(x, y)",
        "%%tpu_fit\ntrain(model, None)",
        "%%tpu_fit\ntrain(model, y)",
    ]
    text = exported(cells, run_in(cells, 4, caller=2)).script()
    assert "train(model, None)" not in text
    assert text.endswith("train(model, y)\n")


def test_of_a_cell_that_raised_after_its_fit_the_fit_is_kept():
    cells = [SETUP, "%%tpu_fit --seed 0\nmodel.fit(x, y, epochs=2)\nmodel.nothing()", FIT]
    runs = [run_in(cells, 2), run_in(cells, 3, place=2)]
    text = document_of(runs[-1], runs, ["", *cells], transform, {2: 2}).script()
    assert "nothing" not in text
    assert text.count("model.fit(\n") == 2


def test_the_exported_cell_is_cut_too_where_it_raised_after_its_fit():
    cells = [SETUP, FIT + "\nmodel.nothing()"]
    run = run_in(cells, 2)
    text = document_of(run, [run], ["", *cells], transform, {2: 2}).script()
    assert "model.fit(\n" in text
    assert "nothing" not in text


def test_a_plain_cell_that_raised_is_cut_where_it_did():
    cells = [SETUP, "x = x + 1\nmodel.compil('adam')", FIT]
    run = run_in(cells, 3)
    text = document_of(run, [run], ["", *cells], transform, {2: 2}).script()
    assert "compil('adam')" not in text
    assert "x = x + 1" in text


def test_the_fit_of_another_model_stays_out():
    other = 'other = keras.Sequential([keras.layers.Dense(2)])\nother.compile("sgd", "mse")'
    cells = [f"{SETUP}\nkeras.utils.set_random_seed(1)\n{other}\n{MODEL}", "%%tpu_fit\nother.fit(x, y)", FIT]
    runs = [run_in(cells, 2), run_in(cells, 3, place=2)]
    text = exported(cells, *runs).script()
    assert "other.fit" not in text
    assert "other = keras" in text  # it draws before the model does
    assert text.count(".fit(") == 1


def test_the_header_says_whether_the_figures_are_those_of_the_run():
    unseeded = script([SETUP, FIT.replace(" --seed 0", "")], seed=None)
    assert "does not give the figures of the run: no seed was set" in unseeded
    assert "It gives the history" not in unseeded
    seeded = script(["import keras\nkeras.utils.set_random_seed(4)", SETUP, FIT])
    assert "It gives the history of the run: with the same versions and seeds" in seeded
    assert "does not give" not in seeded


def test_only_what_makes_weights_before_a_seed_counts_as_unseeded():
    cells = [
        cell("import keras\n(x, y), _ = keras.datasets.mnist.load_data()"),
        cell(f"%%tpu_fit --seed 1\n{MODEL}", 2),
    ]
    assert not sliced(cells, cells[-1]).unseeded


def test_a_shell_notes_the_line_that_raised(monkeypatch):
    monkeypatch.setattr(session, "raised", {})
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "colab_tpu_magic")
    try:
        for text in ("a = 1", "b = 2\n1 / 0", "%%tpu_fit\nc = 3\n\n1 / 0", "raise KeyboardInterrupt", "syntax error"):
            shell.run_cell(text, store_history=True)
    finally:
        shell.run_line_magic("unload_ext", "colab_tpu_magic")
        lines = list(session.raised.values())
        first = min(session.raised)
        shell.run_cell("1 / 0", store_history=True)
        InteractiveShell.clear_instance()
    assert lines == [2, 3, None]
    assert list(session.raised) == [first, first + 1, first + 3]
