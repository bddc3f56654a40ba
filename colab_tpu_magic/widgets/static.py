"""The picture that stays when a run has ended: HTML, SVG, PNG and text in one output.

A front end shows the richest form that it knows:

* ``text/html``: JupyterLab, Notebook, Colab, VS Code, nbconvert and nbviewer. The SVG in it takes the
  colours of the page, and a PNG stands in for it where a page removes SVG (`picture`).
* ``image/svg+xml``, ``image/png``: readers of pictures only. A picture cannot ask the page for its
  text colour, so the SVG has a grey there that reads on white and on black.
* ``text/plain``: terminals, logs, screen readers.
"""

from __future__ import annotations

from html import escape

from ..training.findings import findings
from ..training.run import Run
from .changes import changes_html
from .chart_options import ChartOptions
from .chart_panel import TRAIN_COLOUR
from .facts import facts
from .figure import run_figure
from .picture import MID_GREY, chart_with_png, png_base64
from .svg import chart_description, chart_svg
from .text import batch_text, ending_text, progress_text, run_summary
from .units import duration_text

STATUS_COLOURS = {"completed": "#009E73", "stopped": "#E69F00", "interrupted": "#E69F00", "failed": "#D55E00"}
_DEFAULTS = ChartOptions()


def run_bundle(run: Run, options: ChartOptions = _DEFAULTS, with_png: bool = True) -> dict[str, str]:
    """Return a run as a MIME bundle that is seen again without a kernel and without JavaScript.

    The PNG is left out when matplotlib cannot draw it.

    Args:
        run: A run that has ended, or as it stands.
        options: How its chart was drawn last, so that what stays is what was seen.
        with_png: Draw the PNG, which takes most of the time.
    """
    png = png_base64(lambda: run_figure(run, options)) if with_png else ""
    return {
        "text/html": run_html(run, png, options),
        "image/svg+xml": chart_svg(run, ink=MID_GREY, options=options),
        **({"image/png": png} if png else {}),
        "text/plain": run_summary(run),
    }


def run_html(run: Run, png: str = "", options: ChartOptions = _DEFAULTS) -> str:
    """Return a run as HTML: how it ended, its curves, what they show, its numbers and what was changed.

    Args:
        run: A run that has ended, or as it stands.
        png: The curves as base64 PNG, for pages that remove inline SVG. Empty for none.
        options: How the chart is drawn.
    """
    chart = chart_with_png(chart_svg(run, options=options), png, chart_description(run))
    return (
        '<div style="font-family:system-ui,sans-serif;font-size:13px;line-height:1.45">'
        f'<div style="font-size:15px;font-weight:600">{status_dot(run)}{escape(ending_text(run))}</div>'
        f'<div style="opacity:.75;margin:1px 0 8px">{escape(run.device)}</div>'
        f"{chart}{_findings(run)}{_numbers(run)}{changes_html(run.changes)}</div>"
    )


def status_dot(run: Run) -> str:
    """Return a dot in the colour of a run's status; the words beside it say the same."""
    colour = STATUS_COLOURS.get(run.status, TRAIN_COLOUR)
    return (
        f'<span style="display:inline-block;width:9px;height:9px;border-radius:50%;background:{colour};'
        'margin-right:6px"></span>'
    )


def _findings(run: Run) -> str:
    style = "max-width:960px;border-left:3px solid #E69F00;padding:1px 0 1px 10px;margin:6px 0 10px"
    return "".join(f'<div role="note" style="{style}">{escape(finding)}</div>' for finding in findings(run))


def _numbers(run: Run) -> str:
    rate = run.examples_per_second()
    shown = [
        ("Progress", progress_text(run)),
        ("Time", duration_text(run.duration_seconds) if run.duration_seconds is not None else ""),
        ("First step, with compilation", duration_text(run.compile_seconds) if run.compile_seconds is not None else ""),
        ("Examples a second", f"{rate:,.0f}" if rate is not None else ""),
        ("Batch", batch_text(run) if run.global_batch_size else ""),
        *facts(run),
    ]
    cells = "".join(
        f'<div style="margin:0 28px 6px 0"><div style="opacity:.7;font-size:12px">{title}</div>'
        f'<div style="font-variant-numeric:tabular-nums">{escape(text)}</div></div>'
        for title, text in shown
        if text
    )
    return f'<div style="display:flex;flex-wrap:wrap;max-width:1000px;margin-top:4px">{cells}</div>'
