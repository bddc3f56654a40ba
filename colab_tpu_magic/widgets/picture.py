"""A drawn SVG with a PNG as its stand-in, for pages that clean HTML; and figures made into PNG.

A page that cleans HTML before showing it (a notebook that is not trusted, GitHub) throws inline SVG
and ``<style>`` away. So a PNG stands beside the SVG, which our ``<style>`` hides as long as it is
obeyed, and ``hidden`` keeps the chart's loose labels out of sight then.
"""

from __future__ import annotations

import base64
import io
import threading
import warnings
from collections.abc import Callable
from functools import partial
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG_DPI = 110
MID_GREY = "#767676"
"""Ink of an SVG that stands alone and cannot ask a page: it reads on white and on black."""
_STYLE = "<style>.tpu-magic-chart[hidden]{display:block!important}.tpu-magic-picture{display:none!important}</style>"


def chart_with_png(chart: str, png: str, description: str) -> str:
    """Return an SVG as HTML that shows the PNG in its place where SVG is removed.

    Args:
        chart: The SVG.
        png: The same picture as base64 PNG; empty for none.
        description: The picture in words.
    """
    if not png:
        return chart
    # JupyterLab's cleaner drops attributes without a value, so not just "hidden".
    return (
        f'{_STYLE}<div class="tpu-magic-chart" hidden="hidden">{chart}</div><img class="tpu-magic-picture" '
        f'style="max-width:100%" alt="{escape(description)}" src="data:image/png;base64,{png}"/>'
    )


def new_figure(columns: int, rows: int, panel_height: float = 2.9, fitted: bool = False) -> Figure:
    """Return an empty matplotlib Figure made without pyplot and its global state.

    It shows itself as the last expression of a cell, whether or not ``%matplotlib`` was used.

    Args:
        columns: Panels in a row.
        rows: Rows of panels.
        panel_height: Height of a panel in inches.
        fitted: Measure every text to leave it room, which takes longer than to draw it all.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width, height = max(5.6, 3.8 * columns), panel_height * rows
    figure = Figure(figsize=(width, height), layout="constrained" if fitted else None)
    if not fitted:
        margins = {"left": 0.6 / width, "right": 1 - 0.15 / width, "bottom": 0.5 / height, "top": 1 - 0.35 / height}
        between = {"wspace": 0.75 / (width / columns - 0.75), "hspace": 0.9 / (panel_height - 0.9)}
        figure.subplots_adjust(**margins, **between)
    FigureCanvasAgg(figure)
    # IPython knows how to show a Figure only once pyplot was imported; else it asks the object.
    setattr(figure, "_repr_png_", partial(png_bytes, figure))  # noqa: B010
    return figure


def png_base64(draw: Callable[[], Figure]) -> str:
    """Return a figure as base64 PNG; empty when matplotlib cannot draw it.

    That happens when the user's settings ask for a LaTeX that is not there: the other forms of an
    output say the same.

    Args:
        draw: Makes the figure.
    """
    try:
        return base64.b64encode(png_bytes(draw())).decode("ascii")
    except Exception:
        return ""


def png_bytes(figure: Figure) -> bytes:
    """Return a figure as PNG on white."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a metric name that the font has no letters for, or that leaves no room
        figure.savefig(buffer, format="png", dpi=PNG_DPI, facecolor="white")
    return buffer.getvalue()


def warm_up() -> None:
    """Load matplotlib and its fonts in a thread, so that the picture at the end is there at once.

    The first figure of a process takes 0.6 s, later ones 0.1 s; while the first step is
    compiled, nobody waits for it.
    """
    if not _warmed:
        _warmed.append(True)
        threading.Thread(target=_first_figure, name="tpu-picture", daemon=True).start()


_warmed: list[bool] = []


def _first_figure() -> None:
    def draw() -> Figure:
        figure = new_figure(1, 1)
        figure.add_subplot().set_title("0")
        return figure

    png_base64(draw)
