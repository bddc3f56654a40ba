"""What the card says in words and tables: the main row's figures, the table of rows, what to type, what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...sizes import bytes_text
from ..table import Cell
from ..units import duration_text
from .chosen import main_row
from .words import (
    STATUS_WORDS,
    labels,
    needed_text,
    notes_of,
    precision_text,
    rate_text,
    rates_text,
    share_text,
    time_text,
    times_text,
)

if TYPE_CHECKING:
    from ...planner.plan import Plan
    from ...planner.row import Row

WORTH_SAYING = 1.1
"""The whole rate of memory is told where it would make a step faster by at least this."""
NEAR = 0.9
"""Part of the highest rate from which a curve counts as flat."""
TITLES = ("target", "batch", "precision", "answer", "memory of a device", "a step", "examples/s", "MXU", "held up by")


def figures(row: Row) -> list[tuple[str, str]]:
    """Return the main row's figures, each with its title, as far as they are known."""
    found = [
        ("Examples a second", rates_text(row.examples_per_second)),
        ("Time of a step", times_text(row.step_seconds)),
        ("Memory of a device", needed_text(row)),
        ("Arithmetic of a step", _operations(row.flops)),
        ("Matrix units (MXU)", f"{share_text(row.mxu_utilisation)} of their peak" if row.mxu_utilisation else ""),
        ("Moved through memory", f"{bytes_text(row.hbm_bytes_moved)} a step" if row.hbm_bytes_moved else ""),
        ("At memory's whole rate", _at_whole_rate(row)),
        ("Between devices", f"{time_text(row.collective_seconds)}, by a model" if row.collective_seconds else ""),
    ]
    return [(title, text) for title, text in found if text and text != "–"]


def table_of(plan: Plan) -> tuple[list[str], list[list[Cell]]]:
    """Return every row of the plan as cells below their titles; precisions only where some are named."""
    rows = [
        [
            Cell(row.target),
            Cell(f"{row.batch_size:,}"),
            Cell(precision_text(row.precision)),
            Cell(STATUS_WORDS.get(row.status, row.status), tip=row.reason),
            Cell(needed_text(row)),
            Cell(times_text(row.step_seconds)),
            Cell(rates_text(row.examples_per_second)),
            Cell(share_text(row.mxu_utilisation) if row.mxu_utilisation else ""),
            Cell(row.bound),
        ]
        for row in plan.rows
    ]
    kept = [name for name in TITLES if name != "precision" or any(row.precision for row in plan.rows)]
    return kept, [[cell for cell, name in zip(row, TITLES) if name in kept] for row in rows]


def refusals(plan: Plan) -> list[tuple[str, str]]:
    """Return why rows were not compiled, each reason once with the names of its rows; not what the verdict says."""
    reasons: dict[str, list[str]] = {}
    for row, name in zip(plan.rows, labels(plan.rows)):
        if row.status == "refused" and not (row.reason and row.reason.rstrip(".") in plan.verdict):
            reasons.setdefault(row.reason or "No reason is known.", []).append(name)
    if len(reasons) == 1 and sum(map(len, reasons.values())) == len(plan.rows) > 0:
        return [("", reason) for reason in reasons]
    return [(_several(names), reason) for reason, names in reasons.items()]


def typed(plan: Plan) -> str:
    """Return the line that trains as the plan recommends; empty where it recommends nothing."""
    flags = []
    if isinstance(plan.recommended.batch_size, int):
        flags.append(f"--batch-size {plan.recommended.batch_size}")
    if plan.recommended.precision != "keep":
        flags.append(f"--precision {plan.recommended.precision}")
    return " ".join(["%%tpu_fit", *flags]) if flags else ""


def where_it_flattens(plan: Plan) -> str:
    """Say where the curve is near its height, when that is beyond the best batch; empty when it is not."""
    best = main_row(plan)
    points = [
        point
        for curve in plan.curves
        if best is not None and (curve.target, curve.precision) == (best.target, best.precision)
        for point in curve.points
    ]
    top = max((point.examples_per_second for point in points), default=0.0)
    near = next((point for point in points if point.examples_per_second >= NEAR * top > 0), None)
    if best is None or near is None or near.batch_size <= best.batch_size:
        return ""
    size = near.batch_size
    said = (
        f"The curve reaches nine tenths of its height at {'' if near.compiled else 'about '}batch {size:,} "
        f"({rate_text(near.examples_per_second)} examples a second)"
    )
    if plan.most_rows is not None and size > plan.most_rows:
        return f"{said}, which leaves fewer than 50 steps in an epoch of your rows to learn from."
    return f"{said}. To choose among such batches: --batch-sizes {max(best.batch_size, size // 4)},{size}"


def left_out(plan: Plan) -> list[str]:
    """Return what the figures do not have in them, and how they were made, in sentences."""
    said = []
    missing = dict.fromkeys(name for row in plan.rows for name in row.unestimated)
    if missing:
        several = len({row.target for row in plan.rows if row.unestimated}) > 1
        for row in _first_of_each_target(plan):
            place = f" on {row.target}" if several else ""
            said.append(f"The compiler gives no time{place} for {', '.join(row.unestimated)}.")
    models = dict.fromkeys(row.collective_model for row in plan.rows if row.collective_model)
    said += [f"Collectives by a model: {model}." for model in models]
    said += notes_of(plan)
    compiled = sum(row.compile_seconds for row in plan.rows)
    kept = sum(row.cached for row in plan.rows)
    if plan.compiler:
        took = f", {duration_text(compiled)} of compiling in all" if compiled else ""
        cache = f", {kept} of {len(plan.rows)} kept from earlier plans" if kept else ""
        said.append(f"Compiler: {plan.compiler}{took}{cache}.")
    return said


def _first_of_each_target(plan: Plan) -> list[Row]:
    """Return a row of each target whose instructions without an estimate are told: the best, or the first."""
    found = []
    for target in plan.targets:
        rows = [row for row in plan.rows if row.target == target and row.unestimated]
        best = plan.best(target)
        if rows:
            found.append(best if best is not None and best.unestimated else rows[0])
    return found


def _several(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _at_whole_rate(row: Row) -> str:
    """Return the rate at memory's whole rate where it differs enough from what the compiler estimates."""
    seconds = row.full_memory_rate_seconds
    if not seconds or row.device_seconds < WORTH_SAYING * seconds:
        return ""
    return f"up to {rate_text(row.batch_size / seconds)} examples a second"


def _operations(flops: float) -> str:
    """Return a number of operations for people, "" for none."""
    if not flops:
        return ""
    unit, name = (1e12, "TFLOP") if flops >= 1e12 else (1e9, "GFLOP")
    size = flops / unit
    return f"{size:,.0f} {name}" if size >= 100 else f"{size:.3g} {name}"
