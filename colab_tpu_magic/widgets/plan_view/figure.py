"""A plan's pictures as a matplotlib Figure: the same bars and curves as the SVG, for pages that remove it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..figure import style_axes
from ..picture import new_figure
from .chosen import drawn_rows, main_row, shares
from .curve import COLOURS, curve_names, stretches, uses_log
from .layers import BACKWARD, FORWARD, OTHER
from .memory import PARTS
from .strokes import RED
from .words import labels, needed_text, row_label, share_text, tick_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...planner.plan import Plan
    from ...planner.row import Row


def plan_figure(plan: Plan) -> Figure:
    """Return a plan as a Figure: what fits above, rates and layers below."""
    rows, best = drawn_rows(plan), main_row(plan)
    lower = best is not None
    high = 0.9 + 0.28 * len(rows)
    figure = new_figure(2, 1, high + (3.0 if lower else 0), fitted=True)
    grid = figure.add_gridspec(2 if lower else 1, 2, height_ratios=[high, 3.0] if lower else None)
    _memory(figure.add_subplot(grid[0, :]), rows)
    if best is not None:
        _curves(figure.add_subplot(grid[1, 0]), plan)
        _layers(figure.add_subplot(grid[1, 1]), best)
    return figure


def _memory(axes: Any, rows: list[Row]) -> None:
    style_axes(axes, "Does it fit?  Memory of a device against what there is", "")
    axes.grid(axis="y", visible=False)
    seen: set[str] = set()
    for place, row in enumerate(rows):
        done = 0.0
        if row.memory is not None and row.allowed_bytes:
            for name, size in row.memory.parts():
                part, label = 100 * size / row.allowed_bytes, PARTS[name][1]
                known = label if label not in seen and size else None
                seen.add(label) if size else None
                axes.barh(place, part, left=done, height=0.6, color=PARTS[name][0], label=known)
                done += part
        elif row.needed_bytes and row.allowed_bytes:
            axes.barh(place, 100 * row.needed_bytes / row.allowed_bytes, height=0.6, color=RED, alpha=0.75)
            done = 100 * row.needed_bytes / row.allowed_bytes
        said = needed_text(row) or row.reason[:70] or row.status
        axes.text(min(done, 128) + 1, place, said, va="center", fontsize=8, parse_math=False)
    axes.axvline(100, color="black", linestyle="--", linewidth=0.8)
    axes.set_xlim(0, 150)
    axes.set_xticks([])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), labels(rows), parse_math=False)
    if seen:
        axes.legend(
            fontsize=7,
            frameon=False,
            ncols=6,
            columnspacing=1.2,
            handlelength=1.2,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.02),
        )


def _curves(axes: Any, plan: Plan) -> None:
    style_axes(axes, "Examples a second", "global batch size")
    for place, (curve, name) in enumerate(zip(plan.curves, curve_names(plan))):
        colour = COLOURS[place % len(COLOURS)]
        for one, two, compiled in stretches(curve.points):
            sizes, rates = (one.batch_size, two.batch_size), (one.examples_per_second, two.examples_per_second)
            axes.plot(sizes, rates, "-" if compiled else "--", color=colour)
        points = [point for point in curve.points if point.compiled]
        compiled_sizes = [point.batch_size for point in points]
        axes.plot(
            compiled_sizes, [point.examples_per_second for point in points], "o", color=colour, markersize=4, label=name
        )
    axes.set_xscale("log", base=2)
    ticks = sorted({point.batch_size for curve in plan.curves for point in curve.points if point.compiled})
    ticks = ticks[:: -(-len(ticks) // 6)] if ticks else []
    axes.set_xticks(ticks, [f"{size:,}" for size in ticks])
    axes.minorticks_off()
    if uses_log(list(plan.curves)):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(lambda value, place: tick_text(value))
    if len(plan.curves) > 1:
        axes.legend(fontsize=7, frameon=False)


def _layers(axes: Any, row: Row) -> None:
    style_axes(axes, f"Time at {row_label(row, with_precision=False)}", "")
    axes.grid(axis="y", visible=False)
    bars = shares(row)
    for place, one in enumerate(bars):
        other = not one.is_layer and not one.backward
        axes.barh(place, 100 * one.forward, height=0.6, color=OTHER if other else FORWARD)
        axes.barh(place, 100 * one.backward, left=100 * one.forward, height=0.6, color=BACKWARD)
        axes.text(100 * one.total + 0.5, place, share_text(one.total), va="center", fontsize=8)
    axes.set_yticks(range(len(bars)), [one.name[-28:] for one in bars], parse_math=False)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xticks([])
    for colour, name in ((FORWARD, "forward"), (BACKWARD, "backward")):
        axes.barh(0, 0, color=colour, label=name)
    axes.legend(fontsize=7, frameon=False, loc="lower right")
