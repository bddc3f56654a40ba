"""Draw a run's metrics as one SVG in plain Python: a panel a metric, side by side."""

from __future__ import annotations

import re
from html import escape

from ..training.run import Run
from .axes import epoch_ends
from .best import Best, best_of
from .chart_data import learning_rate_of, panels_of
from .chart_options import ChartOptions
from .chart_panel import panel_svg
from .plot import PANEL_HEIGHT
from .text import ending_text, final_metrics
from .units import number_text

MAX_COLUMNS = 3
# Width of the whole chart in pixels, by panels in a row.
WIDTHS = {1: 600, 2: 860, 3: 1000}
_DEFAULTS = ChartOptions()
# Control characters, of a coloured error message for example, which no XML may hold.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")


def chart_svg(run: Run, max_columns: int = MAX_COLUMNS, *, ink: str = "", options: ChartOptions = _DEFAULTS) -> str:
    """Return the run's metrics as SVG text.

    Training metrics are solid lines over the steps, validation metrics dashed lines with a
    marker at the end of each epoch. All panels share one range of steps.

    Args:
        run: Drawn as it stands; a run without values gives one empty panel.
        max_columns: Most panels in a row; further ones go below.
        ink: Colour of text and grid. Empty takes the page's text colour, which a light or a dark
            theme sets; a picture that stands alone has no page to ask.
        options: Logarithmic axis, smoothing, and which train values.
    """
    panels = panels_of(run, options)
    columns = columns_of(len(panels), max_columns)
    width = chart_width(columns)
    last_step = last_step_of(run)
    ends, best, rate = epoch_ends(run, last_step), best_of(run), learning_rate_of(run)
    drawn = [panel_svg(data, width / columns, last_step, ends, best, rate) for data in panels]
    return grid_svg(drawn, columns, PANEL_HEIGHT, _description(run, best, rate[1]), ink)


def grid_svg(panels: list[str], columns: int, height: float, description: str, ink: str) -> str:
    """Return panels of the same size as one SVG, row by row.

    Args:
        panels: The panels, each drawn from its own corner.
        columns: Panels in a row.
        height: Height of a panel in pixels.
        description: The picture in words.
        ink: Colour of text and grid, empty for the page's.
    """
    width = chart_width(columns)
    groups = "".join(
        f'<g transform="translate({index % columns * width / columns:.0f} {index // columns * height:.0f})">{panel}</g>'
        for index, panel in enumerate(panels)
    )
    colour = f' color="{escape(ink)}"' if ink else ""
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {-(-len(panels) // columns) * height:.0f}" '
        f'role="img" aria-label="{escape(description)}" font-family="system-ui, sans-serif" font-size="11" '
        f'fill="currentColor"{colour} style="display:block;width:100%;max-width:{width}px;height:auto">{groups}</svg>'
    )
    return _NOT_XML.sub("", svg)


def columns_of(panels: int, max_columns: int) -> int:
    """Return how many panels stand in a row."""
    return max(1, min(max_columns, panels))


def chart_width(columns: int) -> int:
    """Return the width of a chart in pixels."""
    return WIDTHS.get(columns, 330 * columns)


def chart_height(run: Run, max_columns: int = MAX_COLUMNS) -> int:
    """Return the height of `chart_svg` at its full width, in pixels."""
    count = len(run.metric_names) or 1
    return PANEL_HEIGHT * -(-count // columns_of(count, max_columns))


def chart_description(run: Run) -> str:
    """Return the chart in words, for those who do not see it."""
    return _description(run, best_of(run), learning_rate_of(run)[1])


def last_step_of(run: Run) -> int:
    """Return the last step of the chart's axis."""
    series = [*run.train.values(), *run.validation.values()]
    last = max((one.steps[-1] for one in series if one.steps), default=1)
    if run.status == "running" and run.steps_per_epoch:
        # The axis grows by whole epochs, so that the curve moves and the ticks mostly stand.
        last = -(-last // run.steps_per_epoch) * run.steps_per_epoch
    return max(1, last)


def _description(run: Run, best: Best | None, rate: str) -> str:
    texts = []
    for name, train, validation in final_metrics(run):
        both = (("train", train), ("validation", validation))
        texts.append(f"{name} {', '.join(f'{kind} {number_text(value)}' for kind, value in both if value is not None)}")
    texts += [best.text] if best is not None else []
    texts += [rate] if rate else []
    return f"{ending_text(run)}. {'; '.join(texts) or 'No values yet'}."
