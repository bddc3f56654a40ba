"""Tell a plan in words: the verdict, the table of its rows, how each figure is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .interconnect import HOP_SECONDS
from .layers import blocks
from .plan import ESTIMATE, Advice, Curve, HostRate, Plan
from .row import OUT_OF_MEMORY, Row, best_of
from .rows import BOUND, size_text
from .targets import TARGETS

BATCH = "--batch-size"
TOP_SHARE = 0.25
"""Share of a step from which what takes most of it is named in the verdict."""
HEADINGS = (
    "target",
    "batch",
    "precision",
    "fits",
    "memory",
    "of",
    "step",
    "examples/s",
    "MXU",
    "bound",
    "dearest layer",
)


def verdict(
    rows: Sequence[Row],
    curves: Sequence[Curve],
    best: Row | None,
    advice: Sequence[Advice],
    most: int | None = None,
) -> str:
    """Return a plan in a sentence: does it fit, up to where, the best batch, what takes the time, what to change.

    A second sentence tells the best of every other target.

    Args:
        rows: All rows.
        curves: All curves.
        best: The row that is recommended, or None when nothing fits.
        advice: What to change, highest gain first.
        most: As in `best_of`.
    """
    if best is None:
        return _nothing(rows)
    curve = next((one for one in curves if (one.target, one.precision) == (best.target, best.precision)), None)
    parts = [_fits(best, curve)]
    if best.speed:
        parts.append(f"best {best.batch_size:,}: about {range_text(best.examples_per_second)} examples/s")
        share, name = max(
            [(one.total, one.name) for one in blocks(best.layers)[:1]]
            + [(best.optimizer_share, "the optimizer"), (best.loss_share, "loss and metrics")]
        )
        if share >= TOP_SHARE:
            parts.append(f"{share:.0%} of the time in {name}")
        further = next((one for one in advice if not one.typed.startswith(BATCH)), None)
        if further is not None:
            parts.append(f"{further.typed.removeprefix('--precision ')} would be {gain_text(further.gain)} faster")
    return "; ".join(parts) + "." + _beside(rows, best, most)


def _beside(rows: Sequence[Row], best: Row, most: int | None) -> str:
    """Return what the targets beside the recommended row's make of it, a sentence; empty where there are none."""
    told = []
    for name in dict.fromkeys(row.target for row in rows if row.target != best.target):
        own = [row for row in rows if row.target == name]
        other = best_of(own, most)
        if other is not None:
            told.append(f"{name} about {range_text(other.examples_per_second)} examples/s at {other.batch_size:,}")
        elif any(row.fits for row in own):
            told.append(f"{name} fits, without an estimate")
        elif any(row.status == OUT_OF_MEMORY for row in own):
            told.append(f"{name} does not fit")
        else:
            told.append(f"{name} could not be planned")
    return f" Beside it: {'; '.join(told)}." if told else ""


def _fits(best: Row, curve: Curve | None) -> str:
    if curve is None or curve.largest_batch is None:
        return f"Fits {best.target} at batch {best.batch_size:,}"
    if curve.first_refused is None:
        return f"Fits {best.target} with all rows in one batch of {curve.largest_batch:,}"
    return f"Fits {best.target} up to batch {curve.largest_batch:,}"


def _nothing(rows: Sequence[Row]) -> str:
    full = [row for row in rows if row.status == OUT_OF_MEMORY]
    if full:
        least = min(full, key=lambda row: row.batch_size)
        needed = f": {size_text(least.needed_bytes)} needed, {size_text(least.allowed_bytes)} there"
        return f"Does not fit {least.target}, not even at batch {least.batch_size:,}{needed if least.needed_bytes else ''}."
    if rows:
        return f"Could not be planned: {rows[0].reason or 'no answer came'}".rstrip(".") + "."
    return "Nothing was compiled."


def range_text(both: tuple[float, float]) -> str:
    """Return a range of numbers with two figures each: ``"29,000 to 41,000"``.

    Example:
        >>> range_text((29_312.0, 41_020.0)), range_text((812.0, 814.0))
        ('29,000 to 41,000', '810')
    """
    low, high = rounded(both[0]), rounded(both[1])
    return low if low == high else f"{low} to {high}"


def rounded(number: float) -> str:
    """Return a number with two figures: ``"41,000"``, ``"0.83"``."""
    if number >= 10:
        places = len(str(int(number))) - 2
        return f"{round(number / 10**places) * 10**places:,}"
    return f"{number:.2g}"


def gain_text(gain: float) -> str:
    """Return a gain as a multiple, so exactly that a small one does not read as none.

    Example:
        >>> gain_text(1.042), gain_text(1.3), gain_text(4.26), gain_text(106.2)
        ('1.04×', '1.3×', '4.3×', '106×')
    """
    if gain < 1.995:
        return f"{gain:.2f}".rstrip("0").rstrip(".") + "×"
    return f"{gain:.2g}×" if gain < 9.5 else f"{gain:,.0f}×"


def seconds_text(seconds: float) -> str:
    """Return a time for people.

    Example:
        >>> seconds_text(0.00123), seconds_text(2.5), seconds_text(0.0000042)
        ('1.2 ms', '2.5 s', '4.2 µs')
    """
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{rounded(seconds / unit)} {name}"
    return f"{rounded(seconds * 1e6)} µs"


def table(plan: Plan) -> str:
    """Return a plan's rows as a table of text, the verdict above it."""
    lines = [HEADINGS, *(_cells(row) for row in plan.rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(HEADINGS))]
    told = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    reasons = dict.fromkeys(row.reason for row in plan.rows if row.reason)
    more = [one.text for one in plan.advice] + ([host_text(plan.host)] if plan.host else [])
    return "\n".join([plan.verdict, "", *told, *reasons, *more, *plan.problems, ESTIMATE])


def host_text(host: HostRate) -> str:
    """Say in a sentence how fast this machine prepares the data, and whether that is enough."""
    enough = {
        None: "",
        True: " That is enough.",
        False: " That is less than the TPU would take: it would wait for data.",
    }
    how = f" ({host.how.rstrip('.')})" if host.how else ""
    return (
        f"This machine prepares {rounded(host.examples_per_second)} examples/s{how}. "
        f"Measured here, and in no figure above.{enough[host.enough]}"
    )


def _cells(row: Row) -> tuple[str, ...]:
    shown = row.fits and row.speed > 0
    top = row.layers[0] if row.layers else None
    return (
        row.target,
        f"{row.batch_size:,}",
        row.precision or "as is",
        row.status if row.status != "fits" else "yes",
        size_text(row.needed_bytes) if row.needed_bytes else "",
        size_text(row.allowed_bytes) if row.allowed_bytes else "",
        " to ".join(dict.fromkeys(map(seconds_text, row.step_seconds))) if shown else "",
        range_text(row.examples_per_second) if shown else "",
        f"{row.mxu_utilisation:.0%}" if shown else "",
        row.bound,
        f"{top.name} {top.total:.0%}" if top else "",
    )


def dataframe(plan: Plan) -> Any:
    """Return a plan's rows as a pandas DataFrame: one row each, one column for each plain figure."""
    import pandas

    return pandas.DataFrame([_flat(row) for row in plan.rows])


def _flat(row: Row) -> dict[str, Any]:
    memory = dict(row.memory.parts()) if row.memory else {}
    return {
        "target": row.target,
        "devices": row.devices,
        "batch_size": row.batch_size,
        "precision": row.precision or "own",
        "status": row.status,
        "reason": row.reason,
        "needed_bytes": row.needed_bytes,
        "allowed_bytes": row.allowed_bytes,
        **{
            f"{name}_bytes": memory.get(name)
            for name in ("parameters", "optimizer", "state", "batch", "activations", "code")
        },
        "step_seconds_low": row.step_seconds[0],
        "step_seconds_high": row.step_seconds[1],
        "examples_per_second_low": row.examples_per_second[0],
        "examples_per_second_high": row.examples_per_second[1],
        "device_seconds": row.device_seconds,
        "collective_seconds": row.collective_seconds,
        "flops": row.flops,
        "mxu_utilisation": row.mxu_utilisation,
        "hbm_bytes_moved": row.hbm_bytes_moved,
        "full_memory_rate_seconds": row.full_memory_rate_seconds,
        "bound": row.bound,
        "optimizer_share": row.optimizer_share,
        "loss_share": row.loss_share,
        "unnamed_share": row.unnamed_share,
        "top_layer": row.layers[0].name if row.layers else "",
        "top_layer_share": row.layers[0].total if row.layers else 0.0,
        "compile_seconds": row.compile_seconds,
        "cached": row.cached,
    }


def explained(plan: Plan) -> str:
    """Return how each figure of a plan is made, with the sources of those that are not the compiler's."""
    lines = [
        f"{ESTIMATE} Compiler: {plan.compiler or 'none was asked'}.",
        "Fits: the compiler lays out the step's memory for the slice, and refuses what one device has no room for.",
        "Memory: its own figures for one device. Parameters, optimizer, state and batch are counted from their shapes and"
        " scaled to the compiler's sum for what the step is given, which has padding in it; activations are what the"
        " peak has beyond that.",
        "Largest batch: searched by compiling. A straight line through what two sizes need says where to look, the"
        " middle of what is left open where that does not close in; steps of devices × 8, coarser above 32 of them.",
        "Step, lower end: estimated cycles of every instruction in the compiled text, loops by their trips, divided by"
        " the clock. Upper end: plus the collectives by the model below, plus, for other instructions without an"
        " estimate, the time that their bytes take through HBM.",
        "Examples per second: the batch divided by the two ends of the step. Host, input pipeline, dispatch: not in it.",
        "FLOPs: all dot products and convolutions of the lowered step, forward and backward, over all devices; loops"
        " counted as often as they run. MXU: these, divided by the peak bfloat16 rate and the lower end of the step.",
        "HBM traffic: of every instruction the operands and results that lie there, by the layouts of the compiled text,"
        " padding included; of what is cut out or written in place, the part.",
        "At memory's whole rate: the compiler lets memory give a sixth to a third of its rate (docs/plan-truth.md). This is"
        " the step if every instruction that multiplies no matrices took no longer than its bytes at the whole rate.",
        f"Bound: the MXU where it reaches {BOUND:.0%} of its peak, else HBM where the step's bytes at the whole rate are"
        f" {BOUND:.0%} of that time.",
        "Layers: cycles by the names of operations; what the compiler fuses is counted where its last part comes from.",
        "Between compiled sizes the curve is interpolated: the time of a step is taken to grow in a straight line.",
        "Advice: each change was compiled; its gain is the smaller of those of both ends.",
        "Host: measured on this machine, on a few batches; no part of any other figure.",
        f"A hop between chips takes {HOP_SECONDS * 1e6:g} µs in the model of collectives.",
    ]
    for name in plan.targets:
        lines.append(
            f"{name}: " + "; ".join(f"{what}: {source}" for what, source in TARGETS[name].sources.items()) + "."
        )
    lines += dict.fromkeys(f"{row.target}, {row.collective_model}." for row in plan.rows if row.collective_model)
    kinds = dict.fromkeys(f"{row.target}: {', '.join(row.unestimated)}." for row in plan.rows if row.unestimated)
    if kinds:
        lines += ["Without an estimate:", *kinds]
    lines += dict.fromkeys(note for row in plan.rows for note in row.notes)
    return "\n".join(lines)
