"""Draw one panel of a run's chart: one metric over the steps, with its legend."""

from __future__ import annotations

from collections.abc import Sequence

from .axes import ValueAxis, value_axis
from .best import Best
from .chart_data import PanelData
from .plot import LEFT, PLOT_BOTTOM, QUIET, RIGHT, TIPPED_DOTS, TOP, Plot, in_tenths, short, step_axis, text_svg
from .points import Points
from .units import number_text

# Okabe and Ito's palette: told apart by colour-blind people, on light and on dark pages.
TRAIN_COLOUR = "#0072B2"
VALIDATION_COLOUR = "#D55E00"
RAW_POINTS, SMOOTH_POINTS, RATE_POINTS = 120, 80, 50
_LETTER, _SMALL_LETTER, _BOLD_LETTER = 6.0, 5.3, 7.4
_ROWS = (36.0, 52.0)
_RATE = 'stroke="currentColor" stroke-width="10" opacity=".5"'
_BEST = 'stroke="currentColor" stroke-width="10" opacity=".55"'


def panel_svg(
    data: PanelData,
    width: float,
    last_step: int,
    ends: tuple[tuple[int, int], ...],
    best: Best | None,
    rate: tuple[Points, str],
) -> str:
    """Return one panel as SVG.

    Args:
        data: What it shows.
        width: Its width in pixels.
        last_step: The last step of its axis.
        ends: (epoch, its last step), for each end that is marked.
        best: The best epoch, marked with a line from top to bottom, and on the curve in the loss panel.
        rate: The learning rate and its range in words, shown in the loss panel.
    """
    extent = data.extent
    plot = Plot(width, last_step, value_axis(*extent, data.log) if extent else value_axis(0.0, 1.0))
    is_loss = data.name == "loss"
    rate_points, rate_words = rate if is_loss else (Points(), "")
    parts = [_title(data, width, rate_words), _legend(data, plot.right, best if is_loss else None)]
    if extent is None:
        plot = Plot(width, last_step, ValueAxis(0.0, 1.0, ()))
        middle = (LEFT + plot.right) / 2, (TOP + PLOT_BOTTOM) / 2
        parts.append(text_svg(*middle, "no values yet", f'text-anchor="middle" {QUIET}'))
    parts += [plot.grid(), step_axis(plot.right, last_step, ends)]
    curves = [_rate_curve(plot, rate_points), _best_line(plot, data, best, is_loss), *_train(plot, data)]
    curves += _validation(plot, data)
    return "".join(parts) + in_tenths("".join(curves))


def _title(data: PanelData, width: float, rate_words: str) -> str:
    """Return the name of the metric, and at the right what is not drawn or the learning rate's range."""
    words, right = rate_words or data.note, width - RIGHT
    quiet = f'font-size="10" text-anchor="end" {QUIET}'
    taken = _SMALL_LETTER * len(words) + (24 if rate_words else 8) if words else 0.0
    name = short(data.name, right - LEFT - taken, _BOLD_LETTER)
    parts = [text_svg(LEFT, 18, name, 'font-size="13" font-weight="600"')]
    if words:
        parts.append(text_svg(right, 18, words, quiet))
    if rate_words:
        parts.append(f'<path d="M{right - taken:.1f} 14.5h16" stroke="currentColor" opacity=".5"/>')
    if rate_words and data.note:
        # Both do not fit beside the name; the upper right of a falling curve is mostly free.
        parts.append(text_svg(right - 4, TOP + 12, data.note, quiet))
    return "".join(parts)


def _legend(data: PanelData, right: float, best: Best | None) -> str:
    """Return the legend, in a second row when the first is full."""
    entries = []
    if data.train_value is not None:
        entries.append((_swatch(TRAIN_COLOUR, ""), 28.0, f"{data.train_kind} {number_text(data.train_value)}"))
    if data.validation_value is not None:
        dash = ' stroke-dasharray="6 4"'
        entries.append((_swatch(VALIDATION_COLOUR, dash), 28.0, f"validation {number_text(data.validation_value)}"))
    if best is not None:
        ring = '<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="none" stroke="currentColor" opacity=".8"/>'
        entries.append((ring, 12.0, best.text))
    parts, x, row = [], float(LEFT), 0
    for swatch, gap, text in entries:
        long = gap + _LETTER * len(text)
        if x > LEFT and x + long > right + RIGHT and row == 0:
            x, row = float(LEFT), 1
        if x + long > right + RIGHT:
            text = text.partition(",")[0]
        parts += [swatch.format(x=x, y=_ROWS[row] - 3.5), text_svg(x + gap, _ROWS[row], text)]
        x += long + 12
    return "".join(parts)


def _swatch(colour: str, dash: str) -> str:
    return f'<path d="M{{x:.1f}} {{y:.1f}}h22" stroke="{colour}" stroke-width="2"{dash}/>'


def _rate_curve(plot: Plot, points: Points) -> str:
    """Return the learning rate on a scale of its own, from the bottom to the top of the panel."""
    if not points.values:
        return ""
    thin = points.thinned(RATE_POINTS)
    scale = Plot(plot.width, plot.last_x, value_axis(min(thin.values), max(thin.values)))
    return scale.curve(thin.xs, thin.values, _RATE)


def _best_line(plot: Plot, data: PanelData, best: Best | None, is_loss: bool) -> str:
    if best is None:
        return ""
    x = plot.places([best.step], [1.0])[0][0]
    line = f'<path d="M{x} {10 * TOP}V{10 * PLOT_BOTTOM}" {_BEST}><title>best epoch: {best.epoch}</title></path>'
    if not is_loss or (data.log and best.loss <= 0):
        return line
    y = plot.places([best.step], [best.loss])[1][0]
    return f'{line}<circle cx="{x}" cy="{y}" r="60" stroke="currentColor" stroke-width="14"/>'


def _train(plot: Plot, data: PanelData) -> Sequence[str]:
    raw, smoothed = data.train, data.smoothed
    strong = f'stroke="{TRAIN_COLOUR}" stroke-width="20"'
    if smoothed is not None:
        raw, smoothed = raw.thinned(min(RAW_POINTS, plot.most_points)), smoothed.sampled(SMOOTH_POINTS)
        faint = f'stroke="{TRAIN_COLOUR}" stroke-width="10" opacity=".65"'
        return plot.curve(raw.xs, raw.values, faint), plot.curve(smoothed.xs, smoothed.values, strong)
    if len(raw.xs) == 1:
        tip = f"step {raw.xs[0]:,}: train {number_text(raw.values[0])}"
        return [plot.dots(raw.xs, raw.values, TRAIN_COLOUR, [tip])]
    raw = raw.thinned(plot.most_points)
    return [plot.curve(raw.xs, raw.values, strong)]


def _validation(plot: Plot, data: PanelData) -> Sequence[str]:
    points = data.validation
    style = f'stroke="{VALIDATION_COLOUR}" stroke-width="20" stroke-dasharray="60 40"'
    if len(points.xs) > plot.most_dots:
        points = points.thinned(SMOOTH_POINTS)
        return [plot.curve(points.xs, points.values, style)]
    if not points.xs:
        return []
    few = len(points.xs) <= TIPPED_DOTS
    pairs = zip(points.xs, points.values, strict=True)
    tips = [f"step {step:,}: validation {number_text(value)}" for step, value in pairs] if few else []
    return plot.curve(points.xs, points.values, style), plot.dots(points.xs, points.values, VALIDATION_COLOUR, tips)
