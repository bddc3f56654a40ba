"""What a picture of several runs shows: for each metric, one pair of curves a run, over epochs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import OptionError, nearest
from ..training.run import Run
from .chart_data import PanelData, panels_of
from .chart_options import ChartOptions
from .points import Points
from .run_cells import main_metrics
from .text import final_metrics

MOST_RUNS = 10
FEW_RUNS = 4
"""Runs whose train curves can be seen beside each other; those of more are drawn fainter."""
# Okabe and Ito's palette without its yellow, which is lost on white; the page's own ink is the seventh.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "currentColor")
DASHES: tuple[tuple[int, ...], ...] = ((), (7, 3), (2, 3))


@dataclass(frozen=True)
class RunLook:
    """How a run is told from the others.

    Attributes:
        colour: A colour, ``"currentColor"`` for the ink of the page.
        dash: Lengths of dashes and gaps in pixels, empty for a whole line.
    """

    colour: str
    dash: tuple[int, ...]

    @property
    def dash_attribute(self) -> str:
        """The dashes as an SVG attribute in pixels, empty for a whole line."""
        return f' stroke-dasharray="{" ".join(map(str, self.dash))}"' if self.dash else ""


@dataclass(frozen=True)
class ComparedRun:
    """One run in one panel: its curves over epochs.

    Attributes:
        title: What people call it.
        look: Its colour and dashes.
        data: Its curves and last values; ``xs`` are epochs.
    """

    title: str
    look: RunLook
    data: PanelData


def look_of(index: int) -> RunLook:
    """Return the look of the n-th run, from 0."""
    return RunLook(COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % len(DASHES)])


def looks_of(count: int, options: ChartOptions) -> list[RunLook]:
    """Return the looks of so many runs, so that a run keeps its own where others are hidden."""
    return [look_of(index) for index in (options.looks or range(count))]


def compared(
    runs: Sequence[Run], metric_names: Sequence[str] | None, options: ChartOptions
) -> dict[str, list[ComparedRun]]:
    """Return the runs of each panel, by metric.

    Args:
        runs: At most ten.
        metric_names: The metrics, a panel each; None for the loss and at most two more.
        options: Logarithmic axis, smoothing, and which train values.

    Raises:
        OptionError: There are too many runs, or none has a metric that was asked for.
    """
    if len(runs) > MOST_RUNS:
        raise OptionError(
            f"{len(runs)} runs are too many to be told apart in one picture.", f"At most {MOST_RUNS} runs."
        )
    by_run = [{data.name: data for data in panels_of(run, options)} for run in runs]
    known = list(dict.fromkeys(name for panels in by_run for name in panels))
    for name in metric_names or ():
        if name not in known:
            raise OptionError(
                f"None of the runs has a metric {name!r}.",
                f"One of {', '.join(known)}.",
                nearest(name, known or ["loss"]),
            )
    panels = {}
    looks = looks_of(len(runs), options)
    for name in metric_names or main_metrics(runs) or ["loss"]:
        shown = [(index, run, by_run[index][name]) for index, run in enumerate(runs) if name in by_run[index]]
        log = options.log and any(data.log for _, _, data in shown)
        panels[name] = [
            ComparedRun(run.title, looks[index], _over_epochs(run, data, log)) for index, run, data in shown
        ]
    return panels


def extent_of(lines: Sequence[ComparedRun]) -> tuple[float, float] | None:
    """Return the lowest and the highest value that some runs draw, None when there is none."""
    extents = [line.data.extent for line in lines if line.data.extent is not None]
    return (min(low for low, _ in extents), max(high for _, high in extents)) if extents else None


def last_epoch_of(panels: dict[str, list[ComparedRun]]) -> float:
    """Return where the axis of epochs ends."""
    points = [
        points for lines in panels.values() for line in lines for points in (line.data.train, line.data.validation)
    ]
    return max([1.0, *(one.xs[-1] for one in points if one.xs)])


def _over_epochs(run: Run, data: PanelData, log: bool) -> PanelData:
    """Return the curves with epochs in place of steps, so that runs of different batch sizes can be compared."""
    done = max(1, run.epoch - run.first_epoch + 1)
    per_epoch = run.steps_per_epoch or max(1, run.step) / done
    before = run.first_epoch - 1

    def moved(points: Points) -> Points:
        points = points.positive() if log else points
        return Points([before + step / per_epoch for step in points.xs], points.values)

    train = data.smoothed if data.smoothed is not None else data.train
    # The figures of the table below: Keras' own of the last epoch where there are some.
    finals = {name: values for name, *values in final_metrics(run)}
    train_value, validation_value = finals.get(data.name, (data.train_value, data.validation_value))
    return PanelData(
        data.name,
        data.train_kind,
        moved(train),
        None,
        moved(data.validation),
        train_value,
        validation_value,
        log,
        data.note,
    )
