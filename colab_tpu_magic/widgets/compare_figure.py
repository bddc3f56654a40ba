"""Several runs as a matplotlib Figure: the same curves as the SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..training.run import Run
from .chart_options import ChartOptions
from .compare_data import FEW_RUNS, ComparedRun, RunLook, compared, extent_of
from .figure import log_scale, style_axes
from .picture import new_figure
from .plot import MOST_POINTS
from .svg import MAX_COLUMNS, columns_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DEFAULTS = ChartOptions()


def compare_figure(
    runs: Sequence[Run], metric_names: Sequence[str] | None = None, options: ChartOptions = _DEFAULTS
) -> Figure:
    """Return several runs over each other as a matplotlib Figure.

    Args:
        runs: At most ten.
        metric_names: The metrics, a panel each; None for the loss and at most two more.
        options: Logarithmic axis, smoothing, and which train values.

    Raises:
        OptionError: There are too many runs, or none has a metric that was asked for.
    """
    panels = compared(runs, metric_names, options)
    columns = columns_of(len(panels), MAX_COLUMNS)
    rows = -(-len(panels) // columns)
    figure = new_figure(columns, rows, 3.2, fitted=True)
    named: dict[RunLook, tuple[Any, str]] = {}
    for index, (name, lines) in enumerate(panels.items()):
        axes = figure.add_subplot(rows, columns, index + 1)
        style_axes(axes, name, "epoch")
        for line in lines:
            curve = _draw(axes, line, 0.55 if len(lines) <= FEW_RUNS else 0.35)
            named.setdefault(line.look, (curve, line.title.replace("$", r"\$")))
        if lines and lines[0].data.log:
            log_scale(axes, extent_of(lines))
    if named:
        curves, labels = zip(*named.values(), strict=True)
        figure.legend(curves, labels, loc="outside lower left", ncols=min(5, len(named)), fontsize=8, frameon=False)
    return figure


def _draw(axes: Any, line: ComparedRun, faint: float) -> Any:
    """Draw a run's curves and return the one that stands for it in the legend."""
    train, validation = line.data.train.thinned(MOST_POINTS), line.data.validation
    style = {
        "color": "black" if line.look.colour == "currentColor" else line.look.colour,
        "linestyle": (0, line.look.dash) if line.look.dash else "-",
    }
    if not validation.xs:
        return axes.plot(train.xs, train.values, marker="o" if len(train.xs) == 1 else None, **style)[0]
    axes.plot(train.xs, train.values, linewidth=0.8, alpha=faint, **style)
    marker = {"marker": "o", "markersize": 3} if len(validation.xs) <= 30 else {}
    return axes.plot(validation.xs, validation.values, **marker, **style)[0]
