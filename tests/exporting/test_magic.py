"""`%tpu_export` writes to one place and says where."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from colab_tpu_magic.session import session

from .notebooks import FIT, SETUP, run_in


@pytest.fixture
def shell(monkeypatch):
    """A shell with our magics, in which one run was made."""
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "colab_tpu_magic")
    shell.history_manager.input_hist_raw[:] = ["", SETUP, FIT]
    monkeypatch.setattr(session, "runs", [run_in([SETUP, FIT], 2)])
    yield shell
    shell.run_line_magic("unload_ext", "colab_tpu_magic")
    InteractiveShell.clear_instance()


def test_a_file_is_written_and_named(shell, tmp_path, capsys):
    shell.run_line_magic("tpu_export", f"'{tmp_path / 'run.py'}'")
    assert capsys.readouterr().out == f"Written: {tmp_path / 'run.py'} (run 1)\n"
    assert "full_batches(x, y, batch_size=48, seed=0)" in (tmp_path / "run.py").read_text(encoding="utf-8")


def test_the_run_that_was_written_is_said_also_where_a_later_cell_was_refused(shell, tmp_path, capsys):
    cells = [SETUP, FIT, FIT]
    shell.history_manager.input_hist_raw[:] = ["", *cells, "%%tpu_fit\nmodel.fit(x, batch_size='a')"]
    session.runs[:] = [run_in(cells, 2, place=1), run_in(cells, 3, place=2)]
    shell.run_line_magic("tpu_export", f"{tmp_path / 'run.py'}")
    assert capsys.readouterr().out.endswith("run.py (run 2)\n")
    shell.run_line_magic("tpu_export", f"{tmp_path / 'one.py'} --run 1")
    assert capsys.readouterr().out.endswith("one.py (run 1)\n")


def test_what_could_not_be_written_out_is_said(shell, tmp_path, capsys):
    session.runs[0].status = "stopped"
    shell.run_line_magic("tpu_export", f"{tmp_path / 'run.ipynb'}")
    assert "Note: Run 1 was stopped in epoch 0; the script trains to the end." in capsys.readouterr().out


def test_a_new_cell_gets_the_code(shell, monkeypatch):
    cells: list[str] = []
    monkeypatch.setattr(shell, "set_next_input", cells.append)
    shell.run_line_magic("tpu_export", "--cell")
    assert cells[0].startswith('"""Run 1 as plain Keras')


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("", "%tpu_export run.py"),
        ("run.py --cell", "%tpu_export run.py"),
        ("run.txt", "%tpu_export run.py"),
        ("run.py --run 7", "%tpu_runs"),
        ("run.py --forse", "--force"),
    ],
)
def test_wrong_lines_are_one_message(shell, line, hint):
    with pytest.raises(UsageError) as caught:
        shell.run_line_magic("tpu_export", line)
    assert hint in str(caught.value)
