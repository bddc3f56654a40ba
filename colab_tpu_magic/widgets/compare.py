"""Several runs in one picture and one table: which settings did better."""

from __future__ import annotations

from collections.abc import Sequence

from ..training.run import Run
from .axes import value_axis
from .chart_options import ChartOptions
from .compare_data import FEW_RUNS, ComparedRun, RunLook, compared, extent_of, last_epoch_of, looks_of
from .compare_figure import compare_figure
from .picture import MID_GREY, chart_with_png, png_base64
from .plot import LEFT, PLOT_BOTTOM, QUIET, TOP, Plot, in_tenths, short, step_axis, text_svg
from .run_cells import (
    best_cell,
    duration_cell,
    main_metrics,
    metric_cells,
    metric_titles,
    settings_cell,
    speed_cell,
    status_text,
)
from .runs_view import NO_RUN
from .svg import MAX_COLUMNS, chart_width, columns_of, grid_svg
from .table import Cell, table_html, table_text
from .units import number_text

__all__ = ["compare_bundle", "compare_figure", "compare_svg"]

# A panel has no legend above its plot, but one below with a row a run.
_LIFTED, _ROW = 28, 16
_LEGEND = PLOT_BOTTOM + 38
_DEFAULTS = ChartOptions()
KEY = (
    '<div style="font-size:12px;opacity:.75;margin:2px 0 6px">Strong lines with dots: validation, once an epoch. '
    "Thin lines: training. In the table, train is the mean of the last epoch.</div>"
)


def compare_bundle(
    runs: Sequence[Run], metric_names: Sequence[str] | None = None, options: ChartOptions = _DEFAULTS
) -> dict[str, str]:
    """Return several runs as a MIME bundle: their curves over each other, and a table of settings and results.

    Args:
        runs: At most ten, ended or as they stand.
        metric_names: The metrics, a panel each; None for the loss and at most two more.
        options: Logarithmic axis, smoothing, and which train values.

    Raises:
        OptionError: There are too many runs, or none has a metric that was asked for.
    """
    if not runs:
        return {"text/html": f"<div>{NO_RUN}</div>", "text/plain": NO_RUN}
    chart = compare_svg(runs, metric_names, options=options)
    png = png_base64(lambda: compare_figure(runs, metric_names, options))
    metrics = list(metric_names or main_metrics(runs))
    titles = ("Run", "Settings", *metric_titles(metrics), "Best", "Time", "Examples/s")
    rows = [_row(run, metrics, look) for run, look in zip(runs, looks_of(len(runs), options))]
    table = table_html(titles, rows, "The runs compared")
    return {
        "text/html": f"<div>{chart_with_png(chart, png, _description(runs))}{KEY}{table}</div>",
        "image/svg+xml": compare_svg(runs, metric_names, options=options, ink=MID_GREY),
        **({"image/png": png} if png else {}),
        "text/plain": table_text(titles, rows),
    }


def compare_svg(
    runs: Sequence[Run],
    metric_names: Sequence[str] | None = None,
    *,
    options: ChartOptions = _DEFAULTS,
    ink: str = "",
) -> str:
    """Return several runs over each other as SVG, a panel a metric, over epochs.

    Validation is a strong line with a dot an epoch, training a thin one; a run without validation
    has a strong line for its training.

    Args:
        runs: At most ten.
        metric_names: The metrics; None for the loss and at most two more.
        options: Logarithmic axis, smoothing, and which train values.
        ink: Colour of text and grid, empty for the page's.

    Raises:
        OptionError: There are too many runs, or none has a metric that was asked for.
    """
    panels = compared(runs, metric_names, options)
    columns = columns_of(len(panels), MAX_COLUMNS)
    last_epoch = last_epoch_of(panels)
    width = chart_width(columns) / columns
    drawn = [_panel(name, lines, width, last_epoch) for name, lines in panels.items()]
    height = _LEGEND - _LIFTED + _ROW * max(1, len(runs)) + 10
    return grid_svg(drawn, columns, height, _description(runs), ink)


def _panel(name: str, lines: Sequence[ComparedRun], width: float, last_epoch: float) -> str:
    extent = extent_of(lines)
    log = extent is not None and lines[0].data.log
    plot = Plot(width, last_epoch, value_axis(*extent, log) if extent is not None else value_axis(0.0, 1.0))
    parts = [text_svg(LEFT, 18 + _LIFTED, short(name, plot.right - LEFT, 7.4), 'font-size="13" font-weight="600"')]
    if log:
        parts.append(text_svg(plot.right, 18 + _LIFTED, "log axis", f'font-size="10" text-anchor="end" {QUIET}'))
    if extent is None:
        middle = (LEFT + plot.right) / 2, (TOP + PLOT_BOTTOM) / 2
        parts.append(text_svg(*middle, "no values yet", f'text-anchor="middle" {QUIET}'))
    parts += [plot.grid(), step_axis(plot.right, last_epoch, (), "epoch"), _legend(lines, plot.right)]
    # Thin lines first: no train curve lies over a validation curve.
    curves = [_train(plot, line, len(lines)) for line in lines] + [
        _validation(plot, line, len(lines)) for line in lines
    ]
    return f'<g transform="translate(0 -{_LIFTED})">{"".join(parts)}{in_tenths("".join(curves))}</g>'


def _legend(lines: Sequence[ComparedRun], right: float) -> str:
    quiet = f'font-size="10" text-anchor="end" {QUIET}'
    middle = right - 72
    parts = [text_svg(middle, _LEGEND, "train", quiet), text_svg(right, _LEGEND, "validation", quiet)]
    for row, line in enumerate(lines, start=1):
        y = _LEGEND + _ROW * row
        look, data = line.look, line.data
        parts += [
            f'<path d="M{LEFT} {y - 3.5}h22" stroke="{look.colour}" stroke-width="2.5"{look.dash_attribute}/>',
            text_svg(LEFT + 28, y, short(line.title, middle - LEFT - 28 - 40, 6.3)),
            text_svg(middle, y, number_text(data.train_value), 'text-anchor="end"'),
            text_svg(right, y, number_text(data.validation_value), 'text-anchor="end"'),
        ]
    return "".join(parts)


def _style(look: RunLook, width: int, opacity: str = "") -> str:
    dash = f' stroke-dasharray="{" ".join(str(10 * length) for length in look.dash)}"' if look.dash else ""
    return f'stroke="{look.colour}" stroke-width="{width}"{dash}{opacity}'


def _train(plot: Plot, line: ComparedRun, count: int) -> str:
    points = line.data.train.thinned(_limit(plot, count))
    if line.data.validation.xs:
        return plot.curve(
            points.xs, points.values, _style(line.look, 9, ' opacity=".55"' if count <= FEW_RUNS else ' opacity=".35"')
        )
    dot = plot.dots(points.xs, points.values, line.look.colour) if len(points.xs) == 1 else ""
    return plot.curve(points.xs, points.values, _style(line.look, 18)) + dot


def _validation(plot: Plot, line: ComparedRun, count: int) -> str:
    points = line.data.validation
    if not points.xs:
        return ""
    dots = plot.dots(points.xs, points.values, line.look.colour) if len(points.xs) <= plot.most_dots else ""
    points = points.thinned(_limit(plot, count))
    return plot.curve(points.xs, points.values, _style(line.look, 20)) + dots


def _limit(plot: Plot, count: int) -> int:
    """Return the points of a curve: fewer where there are many curves, so that the notebook stays small."""
    return min(plot.most_points, max(60, 600 // max(1, count)))


def _row(run: Run, metrics: Sequence[str], look: RunLook) -> list[Cell]:
    # JupyterLab gives pictures a share of the width as their most, with which a column counts them as nothing wide.
    mark = (
        '<svg width="26" height="8" aria-hidden="true" style="max-width:none;vertical-align:2px;margin-right:6px">'
        f'<path d="M0 4h26" stroke="{look.colour}" stroke-width="2.5"{look.dash_attribute}/></svg>'
    )
    return [
        Cell(run.title, below=status_text(run), tip=run.error, mark=mark),
        settings_cell(run),
        *metric_cells(run, metrics),
        best_cell(run),
        duration_cell(run),
        speed_cell(run),
    ]


def _description(runs: Sequence[Run]) -> str:
    return f"{len(runs)} runs compared over epochs: {', '.join(run.title for run in runs)}."
