"""Cells become plain Python, each line where it was."""

from __future__ import annotations

import pytest

from colab_tpu_magic.exporting.cells import call_of_line, cells_of

from .notebooks import cell, transform


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("a = 1", "a = 1"),
        ("%load_ext colab_tpu_magic\na = 1", "\na = 1"),
        ("%tpu_connect --simulate v2-8\na = 1", "\na = 1"),
        ("%matplotlib inline\na = 1", "# %matplotlib inline  (a notebook command; it does nothing in a script)\na = 1"),
        ("!pip install x\na = 1", "# !pip install x  (a notebook command; it does nothing in a script)\na = 1"),
        ("%time h = model.fit(x)", "h = model.fit(x)"),
        ("%tpu_fit --batch-size keep model.fit(x, y)", "model.fit(x, y)"),
        ("run = %tpu_fit model x y", "run = model.fit(x, y)"),
        ("%%time\na = 1\nb = 2", "a = 1\nb = 2"),
        ("if a:\n    %tpu_status", "if a:\n    pass"),
    ],
)
def test_notebook_commands_become_comments_and_ours_go(typed, plain):
    assert cell(typed).text == plain


def test_body_of_a_training_cell_is_plain_and_its_seed_is_known():
    made = cell("%%tpu_fit --batch-size 64 --seed 7\n# mine\nmodel.fit(x)", 4)
    assert (made.text, made.fits, made.seed, made.number) == ("# mine\nmodel.fit(x)", True, 7, 4)


def test_a_plain_cell_has_no_seed_and_trains_nothing():
    made = cell("a = 1")
    assert (made.fits, made.seed) == (False, None)


def test_lines_after_a_command_keep_their_numbers():
    made = cell("a = 1\n%timeit -n 3\n!ls\nmodel.fit(x)")
    assert made.text.split("\n")[3] == "model.fit(x)"


def test_cells_that_are_no_python_are_left_out_and_the_others_keep_their_numbers():
    assert [one.number for one in cells_of(["", "a = 1", "a = = 2", "b = 3"], transform)] == [0, 1, 3]


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("model x y --epochs 3", "model.fit(x, y)"),
        ("--quiet model.fit(x, y)", "model.fit(x, y)"),
        ("--seed=4 model dataset", "model.fit(dataset)"),
        ("h = model.fit(x, y)", "h = model.fit(x, y)"),
    ],
)
def test_a_line_stands_for_a_call(line, call):
    assert call_of_line(line) == call
