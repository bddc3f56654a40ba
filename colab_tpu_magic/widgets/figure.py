"""A run's chart as a matplotlib Figure: the same curves and marks as the SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..training.run import Run
from .axes import epoch_ends, value_axis
from .best import Best, best_of
from .chart_data import PanelData, learning_rate_of, panels_of
from .chart_options import ChartOptions
from .chart_panel import TRAIN_COLOUR, VALIDATION_COLOUR
from .picture import new_figure
from .points import Points
from .svg import MAX_COLUMNS, columns_of
from .units import number_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DEFAULTS = ChartOptions()


def run_figure(run: Run, options: ChartOptions = _DEFAULTS) -> Figure:
    """Return the run's metrics as a matplotlib Figure.

    Args:
        run: A run that has ended, or as it stands.
        options: Logarithmic axis, smoothing, and which train values.
    """
    panels = panels_of(run, options)
    columns = columns_of(len(panels), MAX_COLUMNS)
    figure = new_figure(columns, -(-len(panels) // columns))
    best, rate = best_of(run), learning_rate_of(run)
    for index, data in enumerate(panels):
        axes = figure.add_subplot(-(-len(panels) // columns), columns, index + 1)
        style_axes(axes, data.name, "step")
        _draw(axes, data)
        if data.log:
            log_scale(axes, data.extent)
        if best is not None:
            _mark(axes, best, data)
        if axes.lines:
            # Of matplotlib's places for a legend, finding the best one costs most.
            place = "upper right" if falls(data.train.values or data.validation.values) else "lower right"
            axes.legend(fontsize=8, frameon=False, loc=place)
        if data.note:
            axes.set_title(data.note, loc="right", fontsize=7, alpha=0.75)
        for _, end in epoch_ends(run, run.step):
            axes.axvline(end, color="grey", alpha=0.4, linewidth=0.6, linestyle=":")
        if data.name == "loss" and rate[1]:
            _learning_rate(axes, *rate)
    return figure


def falls(values: Sequence[float]) -> bool:
    """Return whether a curve ends below its begin, so that the place above its end is free."""
    return len(values) > 1 and values[-1] < values[0]


def style_axes(axes: Any, title: str, across: str) -> None:
    """Give a panel its title and quiet lines.

    Args:
        axes: matplotlib Axes.
        title: Shown as it is, a dollar sign included.
        across: What the axis below counts.
    """
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold", parse_math=False)
    axes.set_xlabel(across, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)


def log_scale(axes: Any, extent: tuple[float, float] | None) -> None:
    """Make an axis logarithmic, with the SVG's ticks: matplotlib's own labels are powers in two sizes.

    Args:
        axes: matplotlib Axes.
        extent: The lowest and the highest value drawn.
    """
    if extent is None:
        return
    axis = value_axis(*extent, True)
    axes.set_yscale("log")
    axes.set_ylim(10**axis.low, 10**axis.high)
    axes.set_yticks([10**place for place, _ in axis.ticks], [label for _, label in axis.ticks])
    axes.minorticks_off()


def _draw(axes: Any, data: PanelData) -> None:
    label = f"{data.train_kind} {number_text(data.train_value)}"
    train, marker = data.train, "o" if len(data.train.xs) == 1 else None
    if data.smoothed is not None:
        axes.plot(train.xs, train.values, color=TRAIN_COLOUR, alpha=0.4, linewidth=0.8)
        train = data.smoothed
    if data.train_value is not None:
        axes.plot(train.xs, train.values, color=TRAIN_COLOUR, marker=marker, label=label)
    if data.validation_value is not None:
        label, checked = f"validation {number_text(data.validation_value)}", data.validation
        axes.plot(checked.xs, checked.values, "--o", color=VALIDATION_COLOUR, markersize=4, label=label)


def _mark(axes: Any, best: Best, data: PanelData) -> None:
    axes.axvline(best.step, color="black", alpha=0.5, linewidth=0.8)
    if data.name == "loss" and not (data.log and best.loss <= 0):
        ring = {"marker": "o", "markersize": 9, "fillstyle": "none", "linestyle": "none"}
        axes.plot([best.step], [best.loss], color="black", label=best.text, **ring)


def _learning_rate(axes: Any, points: Points, words: str) -> None:
    other = axes.twinx()
    other.plot(points.xs, points.values, color="grey", linewidth=0.8)
    other.set_yticks([])
    other.spines[["top", "right"]].set_visible(False)
    axes.set_title(" · ".join(filter(None, (words, axes.get_title(loc="right")))), loc="right", fontsize=7, alpha=0.75)
