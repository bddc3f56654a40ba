"""The picture that stays when a run has ended: HTML, SVG, PNG and text in one output.

A front end shows the richest form that it knows:

* ``text/html``: JupyterLab, Notebook, Colab, VS Code, nbconvert and nbviewer. The SVG in it takes the
  colours of the page. Pages that clean HTML before showing it (a notebook that is not trusted,
  GitHub) throw inline SVG and ``<style>`` away; so a PNG stands there too, which our ``<style>``
  hides as long as it is obeyed, and ``hidden`` keeps the chart's loose labels out of sight then.
* ``image/svg+xml``, ``image/png``: readers of pictures only. A picture cannot ask the page for its
  text colour, so the SVG has a grey there that reads on white and on black.
* ``text/plain``: terminals, logs, screen readers.
"""

from __future__ import annotations

import base64
import io
import warnings
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from ..training.run import Run
from .axes import epoch_ends
from .changes import changes_html
from .panel import TRAIN_COLOUR, VALIDATION_COLOUR
from .svg import MAX_COLUMNS, chart_description, chart_svg
from .text import batch_text, duration_text, ending_text, final_metrics, number_text, progress_text, run_summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG_DPI = 110
MID_GREY = "#767676"
_STYLE = "<style>.tpu-magic-chart[hidden]{display:block!important}.tpu-magic-picture{display:none!important}</style>"
STATUS_COLOURS = {"completed": "#009E73", "stopped": "#E69F00", "interrupted": "#E69F00", "failed": "#D55E00"}


def run_bundle(run: Run) -> dict[str, str]:
    """Return a run as a MIME bundle that is seen again without a kernel and without JavaScript.

    The PNG is left out when matplotlib cannot draw it, as when the user's settings ask for a LaTeX
    that is not there: the other forms say the same.

    Args:
        run: A run that has ended, or as it stands.
    """
    try:
        png = {"image/png": base64.b64encode(_png(run_figure(run))).decode("ascii")}
    except Exception:
        png = {}
    return {
        "text/html": run_html(run, png.get("image/png", "")),
        "image/svg+xml": chart_svg(run, ink=MID_GREY),
        **png,
        "text/plain": run_summary(run),
    }


def run_html(run: Run, png: str = "") -> str:
    """Return a run as HTML: how it ended, its curves, its numbers and what was changed.

    Args:
        run: A run that has ended, or as it stands.
        png: The curves as base64 PNG, for pages that remove inline SVG. Empty for none.
    """
    chart = chart_svg(run)
    if png:
        # JupyterLab's cleaner drops attributes without a value, so not just "hidden".
        chart = (
            f'{_STYLE}<div class="tpu-magic-chart" hidden="hidden">{chart}</div><img class="tpu-magic-picture" '
            f'style="max-width:100%" alt="{escape(chart_description(run))}" src="data:image/png;base64,{png}"/>'
        )
    colour = STATUS_COLOURS.get(run.status, TRAIN_COLOUR)
    dot = (
        f'<span style="display:inline-block;width:9px;height:9px;border-radius:50%;background:{colour};'
        'margin-right:6px"></span>'
    )
    return (
        '<div style="font-family:system-ui,sans-serif;font-size:13px;line-height:1.45">'
        f'<div style="font-size:15px;font-weight:600">{dot}{escape(ending_text(run))}</div>'
        f'<div style="opacity:.75;margin:1px 0 8px">{escape(run.device)}</div>'
        f"{chart}{_numbers(run)}{changes_html(run.changes)}</div>"
    )


def run_figure(run: Run) -> Figure:
    """Return the run's metrics as a matplotlib Figure, made without pyplot and its global state.

    It shows itself as the last expression of a cell, whether or not ``%matplotlib`` was used.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = run.metric_names or ["loss"]
    values = {name: (train, validation) for name, train, validation in final_metrics(run)}
    columns = min(MAX_COLUMNS, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(max(5.6, 3.8 * columns), 2.9 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    for index, name in enumerate(names):
        axes = figure.add_subplot(rows, columns, index + 1)
        axes.set_title(name, loc="left", fontsize=10, fontweight="bold", parse_math=False)
        axes.set_xlabel("step", fontsize=9)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.25)
        train, validation = values.get(name, (None, None))
        if name in run.train:
            series = run.train[name]
            label, marker = f"train {number_text(train)}", "o" if len(series.steps) == 1 else None
            axes.plot(series.steps, series.values, color=TRAIN_COLOUR, marker=marker, label=label)
        if name in run.validation:
            series = run.validation[name]
            label = f"validation {number_text(validation)}"
            axes.plot(series.steps, series.values, "--o", color=VALIDATION_COLOUR, markersize=4, label=label)
        if axes.lines:
            axes.legend(fontsize=8, frameon=False)
        for _, end in epoch_ends(run, run.step):
            axes.axvline(end, color="grey", alpha=0.4, linewidth=0.6, linestyle=":")
    # IPython knows how to show a Figure only once pyplot was imported; else it asks the object.
    setattr(figure, "_repr_png_", partial(_png, figure))  # noqa: B010
    return figure


def _numbers(run: Run) -> str:
    rate = run.examples_per_second()
    facts = [
        ("Progress", progress_text(run)),
        ("Time", duration_text(run.duration_seconds) if run.duration_seconds is not None else ""),
        ("First step, with compilation", duration_text(run.compile_seconds) if run.compile_seconds is not None else ""),
        ("Examples a second", f"{rate:,.0f}" if rate is not None else ""),
        ("Batch", batch_text(run) if run.global_batch_size else ""),
    ]
    cells = "".join(
        f'<div style="margin:0 28px 6px 0"><div style="opacity:.7;font-size:12px">{title}</div>'
        f'<div style="font-variant-numeric:tabular-nums">{escape(text)}</div></div>'
        for title, text in facts
        if text
    )
    return f'<div style="display:flex;flex-wrap:wrap;max-width:1000px;margin-top:4px">{cells}</div>'


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a metric name that the font has no letters for, or that leaves no room
        figure.savefig(buffer, format="png", dpi=PNG_DPI, facecolor="white")
    return buffer.getvalue()
