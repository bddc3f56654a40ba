import csv
import os
import stat

import pytest

from colab_tpu_magic.errors import OptionError
from colab_tpu_magic.training.run import Run
from colab_tpu_magic.training.series import Series
from colab_tpu_magic.training.series_csv import COLUMNS, write_csv


def make_run(**fields):
    known = {
        "device": "a test",
        "number": 1,
        "steps_per_epoch": 2,
        "train": {"loss": Series("loss", [1, 3], [1.0, 0.1])},
        "running": {"loss": Series("loss", [3], [0.5])},
        "validation": {"loss": Series("val_loss", [2], [0.75])},
        "learning_rate": Series("learning rate", [1], [1e-5]),
    }
    return Run(**known | fields)


def rows(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return [tuple(row) for row in csv.reader(stream)]


def test_every_value_is_a_row_with_its_kind(tmp_path):
    write_csv([make_run()], tmp_path / "runs.csv")
    assert rows(tmp_path / "runs.csv") == [
        COLUMNS,
        ("1", "run 1", "1", "1", "loss", "train", "1.0"),
        ("1", "run 1", "3", "2", "loss", "train", "0.1"),
        ("1", "run 1", "3", "2", "loss", "train_epoch_mean", "0.5"),
        ("1", "run 1", "2", "1", "loss", "validation", "0.75"),
        ("1", "run 1", "1", "1", "learning_rate", "learning_rate", "1e-05"),
    ]


def test_several_runs_are_told_apart_by_their_titles(tmp_path):
    write_csv([make_run(), make_run(name="größer, schneller")], tmp_path / "runs.csv")
    assert list(dict.fromkeys(row[1] for row in rows(tmp_path / "runs.csv"))) == ["run", "run 1", "größer, schneller"]


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@x", "\tx"])
def test_a_name_that_a_spreadsheet_would_run_gets_an_apostrophe(tmp_path, name):
    write_csv([make_run(name=name, train={name: Series(name, [1], [-1.0])})], tmp_path / "runs.csv")
    first = rows(tmp_path / "runs.csv")[1]
    assert (first[1], first[4], first[6]) == (f"'{name}", f"'{name}", "-1.0")


def test_no_runs_leave_the_titles_alone(tmp_path):
    write_csv([], str(tmp_path / "runs.csv"))
    assert rows(tmp_path / "runs.csv") == [COLUMNS]


def test_a_missing_folder_is_named_with_what_to_type(tmp_path):
    with pytest.raises(OptionError, match=r"There is no folder .*my results.*\n.*\nType: !mkdir -p '.*my results'"):
        write_csv([make_run()], tmp_path / "my results" / "runs.csv")


def test_a_file_that_cannot_be_written_is_told_and_leaves_nothing_behind(tmp_path):
    (tmp_path / "runs.csv").mkdir()
    with pytest.raises(OptionError, match=r"runs.csv' cannot be written: Is a directory"):
        write_csv([make_run()], tmp_path / "runs.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]


def test_a_file_that_is_there_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "runs.csv"
    path.write_text("old")
    monkeypatch.setattr(Run, "epoch_of", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OptionError, match="No space left on device"):
        write_csv([make_run()], path)
    assert path.read_text() == "old"
    monkeypatch.undo()
    write_csv([make_run()], path)
    assert rows(path)[0] == COLUMNS
    assert [entry.name for entry in tmp_path.iterdir()] == ["runs.csv"]


def test_others_may_read_the_file_as_any_other(tmp_path):
    write_csv([make_run()], tmp_path / "runs.csv")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "runs.csv").stat().st_mode) == 0o666 & ~mask
