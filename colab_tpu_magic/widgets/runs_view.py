"""The list of runs of this process: a table as HTML and as text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..training.run import Run
from .run_cells import (
    duration_cell,
    epochs_text,
    main_metrics,
    metric_cells,
    metric_titles,
    settings_cell,
    speed_cell,
    status_text,
)
from .static import status_dot
from .table import Cell, table_html, table_text

NO_RUN = "No run yet."


def runs_bundle(runs: Sequence[Run]) -> dict[str, str]:
    """Return a table of runs as a MIME bundle, in the order given.

    Args:
        runs: Runs that have ended, or as they stand.
    """
    if not runs:
        return {"text/html": f"<div>{escape(NO_RUN)}</div>", "text/plain": NO_RUN}
    metrics = main_metrics(runs)
    titles = ("#", "Run", "Status", "Epochs", *metric_titles(metrics), "Time", "Examples/s", "Settings", "Changes")
    rows = [_row(run, metrics) for run in runs]
    return {"text/html": table_html(titles, rows, "The runs of this session"), "text/plain": table_text(titles, rows)}


def _row(run: Run, metrics: Sequence[str]) -> list[Cell]:
    titles = ", ".join(change.title for change in run.changes)
    return [
        Cell(str(run.number or "–")),
        Cell(run.title),
        Cell(status_text(run), tip=run.error, mark=status_dot(run)),
        Cell(epochs_text(run)),
        *metric_cells(run, metrics),
        duration_cell(run),
        speed_cell(run),
        settings_cell(run),
        Cell(str(len(run.changes) or "none"), tip=titles),
    ]
