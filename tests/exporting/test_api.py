"""`tpu.export` writes a file, or says in one message why not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import colab_tpu_magic as tpu
from colab_tpu_magic.exporting.api import export
from colab_tpu_magic.session import session

from .notebooks import FIT, SETUP, run_in, transform


@pytest.fixture
def shell(monkeypatch) -> SimpleNamespace:
    """A shell in which one run was made."""
    monkeypatch.setattr(session, "runs", [run_in([SETUP, FIT], 2)])
    return SimpleNamespace(history_manager=SimpleNamespace(input_hist_raw=["", SETUP, FIT]), transform_cell=transform)


def test_the_public_function_is_this_one():
    assert tpu.export is export
    assert "export" in dir(tpu)
    assert issubclass(tpu.ExportError, tpu.TpuMagicError)


def test_the_last_run_is_returned_and_written(shell, tmp_path: Path):
    path = tmp_path / "run.py"
    text = export(path=str(path), shell=shell)
    assert path.read_text(encoding="utf-8") == text
    assert text.startswith('"""Run 1 as plain Keras: this machine\'s CPU, JAX backend.')
    assert export(1, shell=shell) == export(session.runs[0], shell=shell) == text


def test_a_notebook_is_written_and_the_script_returned(shell, tmp_path: Path):
    path = tmp_path / "run.ipynb"
    text = export(path=str(path), shell=shell)
    assert '"nbformat": 4' in path.read_text(encoding="utf-8")
    assert text.startswith('"""')


def test_a_file_that_is_there_is_written_over_only_by_force(shell, tmp_path: Path):
    path = tmp_path / "run.py"
    path.write_text("mine")
    with pytest.raises(tpu.ExportError, match=r"is there already[\s\S]*--force"):
        export(path=str(path), shell=shell)
    assert path.read_text() == "mine"
    export(path=str(path), force=True, shell=shell)
    assert path.read_text(encoding="utf-8") != "mine"


@pytest.mark.parametrize(
    ("run", "path", "message"),
    [
        (None, "run.txt", r"'run.txt' is neither a script nor a notebook[\s\S]*%tpu_export run.py"),
        (None, "no/such/run.py", r"There is no folder no/such[\s\S]*%tpu_export run.py"),
        (9, None, r"There is no run 9[\s\S]*from 1 to 1"),
    ],
)
def test_what_cannot_be_done_is_one_message(shell, run, path, message):
    with pytest.raises(tpu.ExportError, match=message):
        export(run, path, shell=shell)


def test_without_a_run_it_says_what_to_type(monkeypatch):
    monkeypatch.setattr(session, "runs", [])
    with pytest.raises(tpu.ExportError, match=r"no run to export yet[\s\S]*%%tpu_fit"):
        export()


def test_home_and_capital_endings_are_understood(shell, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    export(path="~/run.PY", shell=shell)
    export(path=tmp_path / "run.IPYNB", shell=shell)
    assert (tmp_path / "run.PY").read_text(encoding="utf-8").startswith('"""Run 1')
    assert '"nbformat": 4' in (tmp_path / "run.IPYNB").read_text(encoding="utf-8")


def test_the_line_to_type_quotes_a_path_with_spaces(shell, tmp_path: Path):
    path = tmp_path / "my run.py"
    path.write_text("mine")
    with pytest.raises(tpu.ExportError) as caught:
        export(path=path, shell=shell)
    assert f'Type: %tpu_export "{path}" --force' in str(caught.value)
    with pytest.raises(tpu.ExportError, match=r'Type: %tpu_export "my run.py"$'):
        export(path="no/such folder/my run.py", shell=shell)


def test_what_cannot_be_written_is_one_message(shell, tmp_path: Path):
    (tmp_path / "run.py").mkdir()
    with pytest.raises(tpu.ExportError, match=r"run.py is a folder[\s\S]*Type: %tpu_export .*run.py/run.py"):
        export(path=tmp_path / "run.py", force=True, shell=shell)
    with pytest.raises(tpu.ExportError, match=r"cannot be written: [\s\S]*Type: %tpu_export run.py"):
        export(path=f"{tmp_path}/{'long' * 100}.py", shell=shell)


def test_a_failed_export_writes_nothing(shell, tmp_path: Path):
    shell.history_manager.input_hist_raw[1] = "x = 1"
    path = tmp_path / "run.py"
    with pytest.raises(tpu.ExportError, match="needs model, y"):
        export(path=str(path), shell=shell)
    assert not path.exists()
