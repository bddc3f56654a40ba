"""The body of a cell runs as IPython runs a cell."""

from __future__ import annotations

import traceback

import pytest
from IPython.core.interactiveshell import InteractiveShell

from colab_tpu_magic.cell import compile_cell, ends_with_semicolon, line_of


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    shell.user_ns.pop("value", None)
    yield shell
    InteractiveShell.clear_instance()


def test_last_expression_is_the_value(shell):
    cell = compile_cell(shell, "value = 20\nvalue + 1")
    assert cell.run(shell.user_ns) == 21
    assert shell.user_ns["value"] == 20


def test_statement_at_the_end_has_no_value(shell):
    assert compile_cell(shell, "value = 1").run(shell.user_ns) is None


def test_semicolon_silences_the_value(shell):
    assert compile_cell(shell, "1 + 1;").run(shell.user_ns) is None


@pytest.mark.parametrize(
    ("text", "silent"),
    [("f();", True), ("f(); # quiet", True), ("f()\n", False), ("';'", False), ("f() # ;", False), ("", False)],
)
def test_semicolon_counts_only_as_the_last_token(text, silent):
    assert ends_with_semicolon(text) is silent


def test_magics_and_shell_commands_work(shell, capfd):
    compile_cell(shell, "%who_ls\n!echo from-the-shell\nvalue = 3").run(shell.user_ns)
    assert "from-the-shell" in capfd.readouterr().out
    assert shell.user_ns["value"] == 3


def test_traceback_names_the_line_that_the_notebook_shows(shell):
    cell = compile_cell(shell, "value = 1\nvalue = 2\n1 / 0")
    with pytest.raises(ZeroDivisionError) as caught:
        cell.run(shell.user_ns)
    assert line_of(caught.value, cell.filename) == 4
    assert "1 / 0" in "".join(traceback.format_tb(caught.value.__traceback__))


def test_error_from_elsewhere_has_no_line():
    try:
        raise ValueError
    except ValueError as error:
        assert line_of(error, "another file") is None


def test_syntax_error_is_the_cells_own(shell):
    with pytest.raises(SyntaxError):
        compile_cell(shell, "value = (")


SHOWN = "a = 1\nb = old(\n    1,\n    2)\n\nc = a / 0\n"
TODAY = "import os\na = 1\nb = 3\n\nc = a / 0\n"


def test_traceback_of_a_migrated_cell_names_the_line_that_the_notebook_shows(shell):
    cell = compile_cell(shell, TODAY, SHOWN)
    with pytest.raises(ZeroDivisionError) as caught:
        cell.run(shell.user_ns)
    assert line_of(caught.value, cell.filename) == 7
    assert "c = a / 0" in "".join(traceback.format_tb(caught.value.__traceback__))


def test_rewritten_line_is_named_as_the_one_it_stands_for(shell):
    cell = compile_cell(shell, "a = 1\nb = 1 / 0\n", "a = 1\nb = old(\n    1,\n    2)\n")
    with pytest.raises(ZeroDivisionError) as caught:
        cell.run(shell.user_ns)
    assert line_of(caught.value, cell.filename) == 3
    assert "b = old(" in "".join(traceback.format_tb(caught.value.__traceback__))


def test_shown_text_need_be_no_python(shell):
    cell = compile_cell(shell, "print('a')\n1 / 0", "print(‘a’)\n1 / 0")
    with pytest.raises(ZeroDivisionError) as caught:
        cell.run(shell.user_ns)
    assert line_of(caught.value, cell.filename) == 3


@pytest.mark.parametrize(
    ("text", "defines"),
    [("import os\ndef f():\n    pass\nclass A:\n    pass", True), ("x = 1", False), ("f()", False), ("# only", False)],
)
def test_cell_of_definitions_is_known_as_such(shell, text, defines):
    assert compile_cell(shell, text).defines is defines
