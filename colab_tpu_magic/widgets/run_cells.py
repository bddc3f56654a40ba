"""What a table of runs says of each: its metrics, its time, its speed."""

from __future__ import annotations

from collections.abc import Sequence

from ..training.run import Run
from .best import best_of
from .table import Cell
from .text import ENDINGS, batch_text, final_metrics
from .units import duration_text, number_text

MOST_METRICS = 3


def main_metrics(runs: Sequence[Run], most: int = MOST_METRICS) -> list[str]:
    """Return the metrics to show of several runs: loss, then what looks like an accuracy, then others.

    Args:
        runs: The runs.
        most: How many at most.
    """
    names = list(dict.fromkeys(name for run in runs for name, *_ in final_metrics(run)))
    return sorted(names, key=lambda name: (name != "loss", "acc" not in name.lower()))[:most]


def metric_cells(run: Run, names: Sequence[str]) -> list[Cell]:
    """Return a cell a metric with its last train and validation value."""
    values = {name: (train, validation) for name, train, validation in final_metrics(run)}
    cells = []
    for name in names:
        train, validation = values.get(name, (None, None))
        both = f"{number_text(train)} / {number_text(validation)}" if validation is not None else number_text(train)
        cells.append(Cell(both, tip="train / validation" if validation is not None else ""))
    return cells


def metric_titles(names: Sequence[str]) -> list[str]:
    """Return the titles of `metric_cells`."""
    return [f"{name} (train / val)" for name in names]


def status_text(run: Run) -> str:
    """Return a run's status in a word or two: ``"completed"``."""
    return ENDINGS.get(run.status, run.status).removeprefix("Training ").removeprefix("is ")


def epochs_text(run: Run) -> str:
    """Return how many epochs are done of how many: ``"3 / 5"``."""
    done = run.epoch
    if run.steps_per_epoch and run.step:
        done = run.first_epoch - 1 + run.step // run.steps_per_epoch
    return f"{done} / {run.epochs}"


def best_cell(run: Run) -> Cell:
    """Return the best epoch and its validation loss."""
    best = best_of(run)
    return Cell(f"epoch {best.epoch}, {best.loss:.3g}" if best is not None else "–", tip="lowest validation loss")


def duration_cell(run: Run) -> Cell:
    """Return how long a run took."""
    return Cell(duration_text(run.duration_seconds) if run.duration_seconds is not None else "–")


def speed_cell(run: Run) -> Cell:
    """Return the examples a second of a run that has ended, or as it stands."""
    rate = run.examples_per_second()
    return Cell(f"{rate:,.0f}" if rate is not None else "–")


def settings_cell(run: Run) -> Cell:
    """Return what a run was trained with: batch, optimizer, learning rate and precision; its device in the tip."""
    rates = run.learning_rate.values
    parts = [f"batch {run.global_batch_size:,}" if run.global_batch_size else "batch unknown"]
    if rates:
        changed = f" → {rates[-1]:.4g}" if rates[-1] != rates[0] else ""
        parts.append(f"{run.optimizer or 'learning rate'} {rates[0]:.4g}{changed}")
    elif run.optimizer:
        parts.append(run.optimizer)
    if run.precision:
        parts.append(run.precision)
    return Cell(", ".join(parts), tip=f"{batch_text(run)}, {run.device}")
