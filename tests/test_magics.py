"""What the magics answer to lines that are wrong, in a shell of this process; nothing here trains."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from traitlets import TraitError

from colab_tpu_magic.magics import TpuMagics
from colab_tpu_magic.magics.overview import summary_line


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "colab_tpu_magic")
    yield shell
    shell.run_line_magic("unload_ext", "colab_tpu_magic")
    InteractiveShell.clear_instance()


def said(shell, name, line, cell=None):
    with pytest.raises(UsageError) as caught:
        if cell is None:
            shell.run_line_magic(name, line)
        else:
            shell.run_cell_magic(name, line, cell)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "line", "type_next"),
    [
        ("tpu_connect", "--simulat v2-8", "Type: --simulate"),
        ("tpu_connect", "--simulate v2-9", "Type: "),
        ("tpu_connect", "--simulate 0", "Type: %tpu_connect --simulate 8"),
        ("tpu_connect", "--backend torch", "Type: --backend auto"),
        ("tpu_connect", "--restart", "and %tpu_connect"),
        ("tpu_fit", "--batch_size 64", "Type: --batch-size"),
        ("tpu_fit", "--epochs ten", "Type: --epochs"),
        ("tpu_fit", "--no Scope model x", "Type: --no scope"),
        ("tpu_fit", "", "Type: %tpu_fit model.fit(x, y)"),
        ("tpu_fit", "missing x y", "Type: %tpu_fit model.fit(x, y)"),
        ("tpu_fit", "--plan v5-1 missing x y", "Type: %tpu_plan model x y --target v5"),
        ("tpu_fit", "--plan missing x y", "Type: %tpu_fit model.fit(x, y)"),
        ("tpu_plan", "", "Type: %tpu_plan model x y --target v5e-1"),
        ("tpu_plan", "model", "Type: %tpu_plan model x y"),
        ("tpu_plan", "a b c d", "Type: %tpu_plan model x y"),
        ("tpu_plan", "missing x", "Type: %tpu_plan model x y"),
        ("tpu_plan", "model x --target v9", "Type: %tpu_plan model x y --target v"),
        ("tpu_plan", "model x --batch-sizes 0", "Type: --batch-sizes 1"),
        ("tpu_plan", "model x --precision half", "Type: --precision"),
        ("tpu_plan", "model x --seconds soon", "Type: --seconds 1"),
        ("tpu_plan", "model x --batch_sizes 8", "Type: --batch-sizes"),
    ],
)
def test_wrong_line_gets_one_message_with_what_to_type(shell, name, line, type_next):
    message = said(shell, name, line)
    assert type_next in message.splitlines()[-1]


def test_help_option_shows_the_help(shell):
    message = said(shell, "tpu_fit", "--help")
    assert "--batch-size" in message and "%tpu_fit?" in message


def test_cell_magic_takes_no_target_and_no_empty_cell(shell):
    assert "takes options only" in said(shell, "tpu_fit", "model", "1 + 1")
    assert "The cell is empty" in said(shell, "tpu_fit", "", "  \n")
    assert "takes options only" in said(shell, "tpu_plan", "model", "1 + 1")
    assert "The cell is empty" in said(shell, "tpu_plan", "", "  \n")


def test_await_at_the_top_is_refused_before_anything_runs(shell):
    shell.user_ns["ran"] = False
    assert "without an event loop" in said(shell, "tpu_fit", "", "ran = True\nawait something()")
    assert shell.user_ns["ran"] is False


@pytest.mark.parametrize("setting", ["batch_size", "learning_rate", "precision", "steps_per_execution"])
def test_setting_that_cannot_be_used_is_refused_at_once(shell, setting):
    (magics,) = [one for one in shell.configurables if isinstance(one, TpuMagics)]
    with pytest.raises(TraitError):
        setattr(magics, setting, "big")


def test_settings_are_the_defaults_of_the_options(shell):
    (magics,) = [one for one in shell.configurables if isinstance(one, TpuMagics)]
    magics.batch_size = 64
    magics.learning_rate = "keep"
    options = magics._fit_options(TpuMagics.tpu_fit.parser.parse_argstring(""))
    assert (options.batch_size, options.learning_rate) == (64, "keep")
    options = magics._fit_options(TpuMagics.tpu_fit.parser.parse_argstring("--batch-size auto --no scope --no dtypes"))
    assert (options.batch_size, options.no) == ("auto", ("scope", "dtypes"))


def test_export_to_a_name_that_is_taken_or_impossible_is_refused(shell):
    for name in ("class", "print", "a-b"):
        assert "is not a free name" in said(shell, "tpu_connect", f"--export {name}")


def test_summary_is_the_sentence_that_says_what_a_magic_does():
    assert summary_line("::\n\n  %tpu_fit [--epochs N]\n\nRun a cell.\nOf Keras.\n\nMore.") == "Run a cell. Of Keras."
    assert summary_line(None) == ""
