"""Draw a run's metrics as one SVG in plain Python: a panel a metric, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..training.run import Run
from .axes import Points, drawable, epoch_ends, step_ticks, tick_text, value_axis
from .text import ending_text, final_metrics, number_text

# Okabe and Ito's palette: told apart by colour-blind people, on light and on dark pages.
TRAIN_COLOUR = "#0072B2"
VALIDATION_COLOUR = "#D55E00"
MAX_COLUMNS = 3
PANEL_HEIGHT = 250
# Width of the whole chart in pixels, by panels in a row.
WIDTHS = {1: 600, 2: 860, 3: 1000}
MAX_MARKERS = 60
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 50, 44
_DASH = ' stroke-dasharray="6 4"'
_QUIET = 'opacity=".75"'


def chart_svg(run: Run, max_columns: int = MAX_COLUMNS, *, ink: str = "") -> str:
    """Return the run's metrics as SVG text.

    Training metrics are solid lines over the steps, validation metrics dashed lines with a
    marker at the end of each epoch. All panels share one range of steps.

    Args:
        run: Drawn as it stands; a run without values gives one empty panel.
        max_columns: Most panels in a row; further ones go below.
        ink: Colour of text and grid. Empty takes the page's text colour, which a light or a dark
            theme sets; a picture that stands alone has no page to ask.
    """
    names = run.metric_names or ["loss"]
    columns = max(1, min(max_columns, len(names)))
    width = WIDTHS.get(columns, 330 * columns)
    panel_width = width / columns
    last_step = _last_step(run)
    values = {name: (train, validation) for name, train, validation in final_metrics(run)}
    panels = []
    for index, name in enumerate(names):
        x, y = index % columns * panel_width, index // columns * PANEL_HEIGHT
        panel = _panel(run, name, values.get(name, (None, None)), panel_width, last_step)
        panels.append(f'<g transform="translate({x:.0f} {y})">{panel}</g>')
    colour = f' color="{escape(ink)}"' if ink else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {chart_height(run, max_columns)}" role="img" '
        f'aria-label="{escape(chart_description(run))}" font-family="system-ui, sans-serif" font-size="11" '
        f'fill="currentColor"{colour} style="display:block;width:100%;max-width:{width}px;height:auto">{"".join(panels)}</svg>'
    )


def chart_height(run: Run, max_columns: int = MAX_COLUMNS) -> int:
    """Return the height of `chart_svg` at its full width, in pixels."""
    count = len(run.metric_names) or 1
    return PANEL_HEIGHT * -(-count // max(1, min(max_columns, count)))


def chart_description(run: Run) -> str:
    """Return the chart in words, for those who do not see it."""
    texts = []
    for name, train, validation in final_metrics(run):
        both = (("train", train), ("validation", validation))
        texts.append(f"{name} {', '.join(f'{kind} {number_text(value)}' for kind, value in both if value is not None)}")
    return f"{ending_text(run)}. {'; '.join(texts) or 'No values yet'}."


def _last_step(run: Run) -> int:
    series = [*run.train.values(), *run.validation.values()]
    last = max((one.steps[-1] for one in series if one.steps), default=1)
    if run.status == "running" and run.steps_per_epoch:
        # The axis grows by whole epochs, so that the curve moves and the ticks mostly stand.
        last = -(-last // run.steps_per_epoch) * run.steps_per_epoch
    return max(1, last)


def _panel(run: Run, name: str, values: tuple[float | None, float | None], width: float, last_step: int) -> str:
    right, bottom = width - RIGHT, PANEL_HEIGHT - BOTTOM
    groups = (
        ("train", drawable(run.train.get(name)), values[0], TRAIN_COLOUR, ""),
        ("validation", drawable(run.validation.get(name)), values[1], VALIDATION_COLOUR, _DASH),
    )
    drawn = [value for _, (points, _), *_ in groups for _, value in points]
    low, high, ticks, decimals = value_axis(drawn)
    x_scale, y_scale = (right - LEFT) / last_step, (bottom - TOP) / (high - low)

    def at(points: Points) -> Points:
        return [(LEFT + x_scale * step, bottom - y_scale * (value - low)) for step, value in points]

    skipped_values = sum(skipped for _, (_, skipped), *_ in groups)
    note = f"{skipped_values:,} NaN or infinite not drawn" if skipped_values else ""
    parts = [_text(LEFT, 18, _short(name, width - 6 * len(note)), 'font-size="13" font-weight="600"')]
    if note:
        parts.append(_text(right, 18, note, f'font-size="10" text-anchor="end" {_QUIET}'))
    levels = [(at([(0, tick)])[0][1], tick_text(tick, decimals)) for tick in ticks] if drawn else []
    parts.append(_value_grid(levels, right, bottom))
    parts.append(_step_axis(run, last_step, x_scale, bottom))
    legend_x = float(LEFT)
    for kind, (points, skipped), value, colour, dash in groups:
        if value is None and not points and not skipped:
            continue
        entry = f"{kind} {number_text(value)}"
        parts.append(f'<path d="M{legend_x:.1f} 33.5h22" stroke="{colour}" stroke-width="2"{dash}/>')
        parts.append(_text(legend_x + 28, 37, entry))
        legend_x += 28 + 6.3 * len(entry) + 16
        parts.append(_curve(at(points), colour, dash))
        if (kind == "validation" and len(points) <= MAX_MARKERS) or len(points) == 1:
            tips = [f"step {step:,}: {kind} {number_text(value)}" for step, value in points]
            parts += [_marker(x, y, colour, tip) for (x, y), tip in zip(at(points), tips, strict=True)]
    if not drawn:
        parts.append(_text((LEFT + right) / 2, (TOP + bottom) / 2, "no values yet", f'text-anchor="middle" {_QUIET}'))
    return "".join(parts)


def _value_grid(levels: Sequence[tuple[float, str]], right: float, bottom: float) -> str:
    parts = [f'<path d="M{LEFT} {bottom}H{right:.1f}" stroke="currentColor" opacity=".45"/>']
    for y, label in levels:
        parts.append(f'<path d="M{LEFT} {y:.1f}H{right:.1f}" stroke="currentColor" opacity=".13"/>')
        parts.append(_text(LEFT - 8, y + 4, label, f'text-anchor="end" {_QUIET}'))
    return "".join(parts)


def _step_axis(run: Run, last_step: int, scale: float, bottom: float) -> str:
    parts = [_text(LEFT - 8, bottom + 17, "step", f'text-anchor="end" {_QUIET}')]
    for step in step_ticks(last_step):
        x = LEFT + scale * step
        parts.append(f'<path d="M{x:.1f} {bottom}v4" stroke="currentColor" opacity=".45"/>')
        label = f"{step:,}"
        # Half of the label must fit beside the panel, else it would be cut off.
        sticks_out = scale * (last_step - step) + RIGHT < 3.4 * len(label)
        anchor = "start" if not step else "end" if sticks_out else "middle"
        parts.append(_text(x + (RIGHT if sticks_out else 0), bottom + 17, label, f'text-anchor="{anchor}" {_QUIET}'))
    ends = epoch_ends(run, last_step)
    if ends:
        parts.append(_text(LEFT - 8, bottom + 32, "epoch", f'text-anchor="end" {_QUIET}'))
    for epoch, end in ends:
        x = LEFT + scale * end
        line = f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="currentColor" stroke-dasharray="1 3" opacity=".4"/>'
        parts += [line, _text(x, bottom + 32, str(run.first_epoch - 1 + epoch), f'text-anchor="middle" {_QUIET}')]
    return "".join(parts)


def _curve(places: Points, colour: str, dash: str) -> str:
    if len(places) < 2:
        return ""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    style = f'stroke="{colour}" stroke-width="2" stroke-linejoin="round"{dash}'
    return f'<polyline points="{points}" fill="none" {style}/>'


def _marker(x: float, y: float, colour: str, tip: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}"><title>{escape(tip)}</title></circle>'


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {attributes}>{escape(text)}</text>'


def _short(name: str, width: float) -> str:
    letters = int((width - LEFT - RIGHT) / 7.4)
    return name if len(name) <= letters else f"{name[: letters - 1]}…"
