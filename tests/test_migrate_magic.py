"""`%tpu_migrate` and `%%tpu_migrate` in a shell of this process; nothing here trains."""

from __future__ import annotations

import json
import re

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "colab_tpu_magic")
    shell.rl_next_input = None
    yield shell
    shell.run_line_magic("unload_ext", "colab_tpu_magic")
    InteractiveShell.clear_instance()


def test_cell_becomes_the_next_input_and_does_not_run(shell, capsys):
    shell.run_cell_magic("tpu_migrate", "", "ran = 1\nopt = tf.train.GradientDescentOptimizer(0.1)\n")
    assert shell.rl_next_input == "ran = 1\nopt = tf.keras.optimizers.SGD(0.1)"
    assert "ran" not in shell.user_ns
    told = capsys.readouterr().out
    assert told.startswith("1 place of the cell brought up to date.")
    assert "line 3: tf.train.GradientDescentOptimizer(0.1) → tf.keras.optimizers.SGD(0.1)" in told
    assert "Source: " in told


def test_cell_that_trains_comes_with_the_line_that_trains_it(shell):
    shell.user_ns["feed"] = lambda: None
    shell.run_cell_magic("tpu_migrate", "", "tpu_model.fit(feed, steps_per_epoch=2)")
    assert shell.rl_next_input == "%%tpu_fit\ntpu_model.fit(feed(), steps_per_epoch=2)"


def test_cell_with_nothing_old_is_told_so_and_left(shell, capsys):
    shell.run_cell_magic("tpu_migrate", "", "model.fit(x, y)\n")
    assert shell.rl_next_input is None
    assert capsys.readouterr().out == "Nothing in the cell is old.\n"


def test_what_cannot_be_carried_over_is_named(shell, capsys):
    shell.run_cell_magic("tpu_migrate", "", "s = tf.Session()\n")
    told = capsys.readouterr().out
    assert told.startswith("1 cannot be carried over.")
    assert "line 2: tf.Session cannot be carried over" in told


def test_cell_that_cannot_be_read_is_not_called_clean(shell, capsys):
    shell.run_cell_magic("tpu_migrate", "", "import tensorflow as tf\nif True\n    pass\n")
    assert shell.rl_next_input is None
    told = capsys.readouterr().out
    assert told.startswith("The cell cannot be read as Python 3, so nothing of it was brought up to date.")
    assert "line 3: if True cannot be read" in told and "It cannot be read as Python 3: expected ':'." in told


def test_file_with_a_cell_that_cannot_be_read_says_so(shell, tmp_path, capsys):
    cells = [{"cell_type": "code", "source": text, "metadata": {}} for text in ("a = np.float(3)", "if True\n  pass")]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 2, "metadata": {}, "cells": cells}), encoding="utf-8")
    shell.run_line_magic("tpu_migrate", str(path))
    told = capsys.readouterr().out
    assert "1 place brought up to date, 1 cannot be read as Python 3." in told
    assert "code cell 3, line 1: if True cannot be read" in told


UNLIKE = r"\x1b\[[0-9;]*m|Cell In ?\[\d+\]|line (?:\x1b\[[0-9;]*m)*\d+|<ipython-input-[^>]*>"
"""Colours, and the number of the cell and of its line."""


@pytest.mark.parametrize("magic", ["tpu_fit", "tpu_check"])
@pytest.mark.parametrize("text", ["a = 1\nmodel.fit x, y", "import tensorflow as tf\ntf.train.AdamOptimizer(\n"])
def test_syntax_error_of_a_cell_is_shown_as_that_of_a_plain_cell(shell, magic, text, capsys):
    def shown(cell):
        result = shell.run_cell(cell)
        error = result.error_in_exec or result.error_before_exec
        return type(error).__name__, re.sub(UNLIKE, "", capsys.readouterr().out)

    plain = shown(text)
    assert "Error" in plain[1] and "Traceback" not in plain[1]
    assert shown(f"%%{magic}\n{text}") == plain


def test_text_of_today_still_names_what_cannot_be_read_behind_a_print_statement(shell, capsys):
    result = shell.run_cell("%%tpu_fit\nprint 'a'\nx = = 1\n")
    assert isinstance(result.error_in_exec, UsageError)
    assert "Line 3: x = = 1" in str(result.error_in_exec)


def test_file_is_written_and_told(shell, tmp_path, capsys):
    path = tmp_path / "my file.py"
    path.write_text("a = np.float(3)\n", encoding="utf-8")
    shell.run_line_magic("tpu_migrate", f'"{path}"')
    told = capsys.readouterr().out
    assert f"Written: {tmp_path / 'my file.tpu.py'}. 1 place brought up to date." in told
    with pytest.raises(UsageError, match="is there already"):
        shell.run_line_magic("tpu_migrate", f'"{path}"')
    shell.run_line_magic("tpu_migrate", f'--force "{path}"')


@pytest.mark.parametrize(
    ("line", "cell", "type_next"),
    [
        ("", None, "Type: %tpu_migrate old.ipynb"),
        ("old.ipynb", "a = 1", "Type: %tpu_migrate old.ipynb"),
        ("--forced a.py", None, "Type: --force"),
        ("nowhere.ipynb", None, "Type: %ls"),
    ],
)
def test_wrong_line_gets_one_message_with_what_to_type(shell, line, cell, type_next):
    with pytest.raises(UsageError) as caught:
        if cell is None:
            shell.run_line_magic("tpu_migrate", line)
        else:
            shell.run_cell_magic("tpu_migrate", line, cell)
    assert type_next in str(caught.value).splitlines()[-1]
