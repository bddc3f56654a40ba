"""`%tpu_migrate` and `%%tpu_migrate` in a shell of this process; nothing here trains."""

from __future__ import annotations

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
