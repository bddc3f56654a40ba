"""What one panel of a chart shows, for the SVG and for matplotlib alike: curves, figures and remarks."""

from __future__ import annotations

from dataclasses import dataclass

from ..training.run import Run
from .chart_options import ChartOptions
from .points import Points, points_of
from .text import final_metrics

LAST_STEPS, EPOCH_MEAN = "train, last steps", "train, epoch mean"
_STEADY = 1e-6


@dataclass(frozen=True)
class PanelData:
    """One metric, ready to be drawn.

    Attributes:
        name: The metric.
        train_kind: Which train values these are.
        train: The train curve.
        smoothed: The mean through it, None when it is not asked for or has nothing to smooth.
        validation: The validation curve.
        train_value: The last train value, NaN and infinity included; None when there is none.
        validation_value: The last validation value, likewise.
        log: Whether a logarithmic axis was asked for and can show a value.
        note: What is not drawn, in short; empty when all is.
    """

    name: str
    train_kind: str
    train: Points
    smoothed: Points | None
    validation: Points
    train_value: float | None
    validation_value: float | None
    log: bool
    note: str

    @property
    def extent(self) -> tuple[float, float] | None:
        """The lowest and the highest value drawn, None when there is none."""
        drawn = [*self._ends(self.train), *self._ends(self.validation)]
        return (min(drawn), max(drawn)) if drawn else None

    @staticmethod
    def _ends(points: Points) -> tuple[float, ...]:
        return (min(points.values), max(points.values)) if points.values else ()


def panels_of(run: Run, options: ChartOptions) -> list[PanelData]:
    """Return the panels of a run, loss first; one empty panel for a run without metrics.

    Args:
        run: Read as it stands.
        options: What the switches under the chart say.
    """
    history = {name: (train, validation) for name, train, validation in final_metrics(run)}
    return [_panel(run, name, options, history.get(name, (None, None))) for name in run.metric_names or ["loss"]]


def learning_rate_of(run: Run) -> tuple[Points, str]:
    """Return the learning rate's points and its range in words; both empty when it did not change."""
    points = points_of(run.learning_rate)
    if not points.values:
        return Points(), ""
    low, high = min(points.values), max(points.values)
    if high - low <= _STEADY * max(abs(low), abs(high)):
        return Points(), ""
    points = points.corners()
    first, last = points.values[0], points.values[-1]
    if {first, last} == {low, high}:
        return points, f"learning rate {first:.4g} → {last:.4g}"
    return points, f"learning rate from {low:.4g} to {high:.4g}"


def _panel(run: Run, name: str, options: ChartOptions, history: tuple[float | None, float | None]) -> PanelData:
    series, kind = run.train.get(name), LAST_STEPS
    if options.epoch_mean and name in run.running:
        series, kind = run.running[name], EPOCH_MEAN
    checked = run.validation.get(name)
    train, validation = points_of(series), points_of(checked)
    log, notes = options.log, []
    if train.not_finite + validation.not_finite:
        notes.append(f"{train.not_finite + validation.not_finite:,} NaN or infinite")
    if options.log and (train.values or validation.values):
        above = train.positive(), validation.positive()
        log = bool(above[0].values or above[1].values)
        if log:
            train, validation = above
            left_out = train.not_positive + validation.not_positive
            notes += [f"{left_out:,} ≤ 0"] if left_out else []
    note = f"{', '.join(notes)} not drawn" if notes else ""
    if options.log and not log:
        note = ", ".join(filter(None, (note, "linear: no value > 0")))
    smooth = options.smoothing > 0 and len(train.values) > 2
    return PanelData(
        name,
        kind,
        train,
        train.smoothed(options.smoothing) if smooth else None,
        validation,
        series.values[-1] if series is not None and series.values else history[0],
        checked.values[-1] if checked is not None and checked.values else history[1],
        log,
        note,
    )
