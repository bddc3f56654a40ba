"""Say what to change, and what it gains: every gain is found by compiling the change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .lower.unchanged import unchanged
from .narrower import narrowed, narrower_widths, shorter_rows
from .plan import Advice
from .row import Row
from .rows import size_text
from .steps import Case, Steps
from .sweep import Sweep
from .targets import Target
from .told import gain_text

LEAST_GAIN = 1.03
"""What gains less is not worth a sentence."""
MOST_CHANGES = 2
"""Changed models and batches that are compiled at most."""


def advice(
    best: Row,
    as_it_is: Row | None,
    rows: Sequence[Row],
    target: Target,
    sweep: Sweep,
    parts: tuple[Any, Any, Any],
    make_steps: Callable[[Any, tuple[Any, Any, Any]], Steps],
) -> tuple[Advice, ...]:
    """Return what to change, highest gain first.

    Args:
        best: The row that is recommended.
        as_it_is: The row of the batch size that the fit has now, or None when it was not compiled.
        rows: All rows.
        target: The target of `best`.
        sweep: Compiles what is changed.
        parts: ``(x, y, sample_weight)`` of a batch as shapes alone.
        make_steps: Makes the steps of another model, or of other batches.
    """
    found = []
    if as_it_is is not None and as_it_is.batch_size != best.batch_size:
        found.append(batch_advice(as_it_is, best))
    case = Case(target, best.batch_size, best.precision)
    model = sweep.steps.model
    found.append(_precision(best, rows, case, sweep))
    with unchanged(model):
        for change in narrower_widths(model)[:MOST_CHANGES]:
            copy = narrowed(model, change)
            if copy is None or sweep.interrupted:
                continue
            after = sweep.one(case, make_steps(copy, parts), change.text)
            if after is not None:
                text = f"{change.better} units instead of {change.width} end at the edge of a tile ({change.text})"
                found.append(compared(text, best, after, f"{change.width} → {change.better}"))
    for length, edge, cut in list(shorter_rows(parts, model))[:MOST_CHANGES]:
        if sweep.interrupted:
            break
        after = sweep.one(case, make_steps(model, cut), f"rows of {edge}")
        if after is not None:
            text = f"Rows cut to {edge} values end at the edge of a tile, those of {length} just over it"
            found.append(compared(text, best, after, f"x = x[:, :{edge}]"))
    return tuple(sorted((one for one in found if one is not None), key=lambda one: -one.gain))


def batch_advice(before: Row, after: Row) -> Advice | None:
    """Return the advice to take another batch size, None where it gains nothing."""
    text = f"A batch of {after.batch_size:,} instead of {before.batch_size:,}"
    return compared(text, before, after, f"--batch-size {after.batch_size}")


def _precision(best: Row, rows: Sequence[Row], case: Case, sweep: Sweep) -> Advice | None:
    """Return the advice to compute in bfloat16, compiled where no row has it yet."""
    if best.precision == "bfloat16":
        return None
    known = [
        row
        for row in rows
        if row.precision == "bfloat16" and row.target == best.target and row.batch_size == best.batch_size and row.fits
    ]
    after = known[0] if known else sweep.one(replace(case, precision="bfloat16"), doing="bfloat16")
    if after is None:
        return None
    text = "bfloat16 arithmetic with float32 weights"
    if best.needed_bytes > after.needed_bytes:
        saved = 1 - after.needed_bytes / best.needed_bytes
        if saved > 0.05:
            text += f" ({saved:.0%} less memory: {size_text(after.needed_bytes)})"
    return compared(text, best, after, "--precision bfloat16")


def compared(text: str, before: Row, after: Row, typed: str) -> Advice | None:
    """Return a change as advice with its gain in examples per second, None where it gains nothing.

    Both ends of the ranges are compared, and the smaller gain is told.
    """
    if not before.speed or not after.speed:
        return None
    gain = min(new / old for new, old in zip(after.examples_per_second, before.examples_per_second))
    if gain < LEAST_GAIN:
        return None
    return Advice(f"{text}: about {gain_text(gain)} the examples per second.", gain, before.speed, after.speed, typed)
