"""Write the series of runs to a CSV file, a row a value, for spreadsheets and pandas."""

from __future__ import annotations

import csv
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import OptionError
from .run import Run

COLUMNS = ("number", "run", "step", "epoch", "metric", "kind", "value")
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

Row = tuple[int, str, int, int, str, str, float]


def write_csv(runs: Sequence[Run], path: str | os.PathLike[str]) -> None:
    """Write every value of every series of some runs, all of the file or nothing of it.

    A name that a spreadsheet would take for a formula gets an apostrophe in front.

    Args:
        runs: Runs that have ended, or as they stand.
        path: The file; one that is there is replaced.

    Raises:
        OptionError: The folder does not exist, or the file cannot be written.
    """
    file = Path(path).expanduser()
    if not file.parent.is_dir():
        raise OptionError(
            f"There is no folder {str(file.parent)!r} to write {file.name!r} into.",
            "A file in a folder that exists.",
            f"!mkdir -p {shlex.quote(str(file.parent))}",
        )
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(COLUMNS)
            for run in runs:
                writer.writerows(_rows(run))
        os.replace(temporary, file)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OptionError(
            f"{str(file)!r} cannot be written: {reason}.", "A file that you may write, such as 'runs.csv'."
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _rows(run: Run) -> Iterator[Row]:
    groups = (("train", run.train), ("train_epoch_mean", run.running), ("validation", run.validation))
    columns = [(kind, name, series) for kind, group in groups for name, series in group.items()]
    title = _plain(run.title)
    for kind, name, series in [*columns, ("learning_rate", "learning_rate", run.learning_rate)]:
        for step, value in zip(series.steps, series.values, strict=True):
            yield run.number, title, step, run.epoch_of(step), _plain(name), kind, value


def _plain(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
