"""A run in plain text: its summary, its progress line and its changes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..rewrite.change import Change
from ..training.findings import findings
from ..training.run import Run
from ..training.series import Series
from .facts import facts
from .units import duration_text, number_text, rate_text

ENDINGS = {
    "running": "Training is running",
    "completed": "Training completed",
    "stopped": "Training stopped",
    "interrupted": "Training interrupted",
    "failed": "Training failed",
}
PHASES = {
    "compiling": "compiling the training step…",
    "training": "training",
    "validating": "validating",
    "paused": "paused",
    "stopping": "stopping…",
    "done": "done",
}


def batch_text(run: Run) -> str:
    """Write the global batch size and, with several replicas, what each gets."""
    if not run.global_batch_size:
        return "unknown"
    if run.replicas == 1:
        return f"{run.global_batch_size:,} rows"
    return f"{run.global_batch_size:,} rows = {run.replicas} replicas × {run.per_replica_batch_size:,}"


def progress_text(run: Run) -> str:
    """Write how far the run came: ``"epoch 3 of 5, 1,250 steps"``."""
    return f"epoch {run.epoch:,} of {run.epochs:,}, {run.step:,} step{'' if run.step == 1 else 's'}"


def ending_text(run: Run) -> str:
    """Write how the run ended, with its reason when it failed."""
    ending = ENDINGS.get(run.status, f"Training {run.status}")
    return f"{ending}: {run.error}" if run.status == "failed" and run.error else ending


def _last(history: Mapping[str, Sequence[float]], key: str, series: Series | None) -> float | None:
    kept = history.get(key)
    sampled = series.values[-1] if series is not None and series.values else None
    if not kept or not isinstance(kept[-1], int | float):
        return sampled
    # A validation that Stop left out stands as NaN in the history, and not at all in the series.
    return sampled if sampled is not None and math.isnan(kept[-1]) else float(kept[-1])


def final_metrics(run: Run) -> list[tuple[str, float | None, float | None]]:
    """Return (metric, train, validation) with the last value of each, None where there is none.

    Keras' own epoch figures are used where the history has them, the last sample otherwise.
    """
    numbers = [name for name, values in run.history.items() if values and isinstance(values[-1], int | float)]
    names = dict.fromkeys([*run.metric_names, *(name.removeprefix("val_") for name in numbers)])
    return [
        (
            name,
            _last(run.history, name, run.train.get(name)),
            _last(run.history, f"val_{name}", run.validation.get(name)),
        )
        for name in names
    ]


def progress_line(run: Run) -> str:
    """Return one line for a terminal: where the run is, the latest metrics and the speed."""
    parts = [f"epoch {run.epoch}/{run.epochs}"]
    if run.steps_per_epoch:
        parts.append(f"step {run.epoch_step:,}/{run.steps_per_epoch:,}")
    elif run.epoch_step:
        parts.append(f"step {run.epoch_step:,}")
    if run.phase == "compiling":
        parts.append(PHASES["compiling"])
    for prefix, group in (("", run.train), ("val_", run.validation)):
        for name in sorted(group, key=lambda name: name != "loss"):
            if group[name].values:
                parts.append(f"{prefix}{name} {number_text(group[name].values[-1])}")
    speed = run.examples_per_second()
    if speed is not None:
        parts.append(rate_text(speed, "examples"))
    return " · ".join(parts)


def epoch_line(run: Run, epoch: int | None = None, after: int | None = None, until: int | None = None) -> str:
    """Return one line for an epoch: its number, its last metrics and the speed so far.

    Args:
        run: The run.
        epoch: Number of the epoch, from 1; the one that is being trained when None.
        after: Step before its first one; where the current epoch began when None.
        until: Its last step; the step of now when None.
    """
    after = run.step - run.epoch_step if after is None else after
    until = run.step if until is None else until
    parts = [f"epoch {run.epoch if epoch is None else epoch}/{run.epochs}"]
    for prefix, group in (("", run.train), ("val_", run.validation)):
        for name in sorted(group, key=lambda name: name != "loss"):
            value = _last_within(group[name], after, until)
            if value is not None:
                parts.append(f"{prefix}{name} {number_text(value)}")
    speed = run.examples_per_second()
    if speed is not None:
        parts.append(rate_text(speed, "examples"))
    return " · ".join(parts)


def _last_within(series: Series, after: int, until: int) -> float | None:
    """Return the last value of a series at a step in (after, until]."""
    for step, value in zip(reversed(series.steps), reversed(series.values), strict=True):
        if step <= until:
            return value if step > after else None
    return None


def changes_text(changes: Sequence[Change]) -> str:
    """Return the changes as an aligned list, one line each: what, before → after, how to switch off, which rule.

    Example:
        >>> print(changes_text([Change("batch-size", "Batch size", "32", "1,024", "", "", "--batch-size keep")]))
        Batch size  32 → 1,024  (--batch-size keep)  [batch-size]
    """
    if not changes:
        return "nothing was changed"
    rows = [(one.title, f"{one.before} → {one.after}", f"({one.switch})  [{one.rule}]") for one in changes]
    title_width = max(len(row[0]) for row in rows)
    change_width = min(60, max(len(row[1]) for row in rows))
    return "\n".join(f"{title:<{title_width}}  {what:<{change_width}}  {switch}" for title, what, switch in rows)


def run_summary(run: Run) -> str:
    """Return the run as a few aligned lines: ending, device, batch, speed, metrics and changes."""
    took = f" in {duration_text(run.duration_seconds)}" if run.duration_seconds is not None else ""
    rows = [("Device", run.device), ("Batch size", batch_text(run))]
    speed = rate_text(run.examples_per_second(), "examples") if run.examples_per_second() is not None else "unknown"
    if run.compile_seconds is not None:
        speed += f", first step with compilation {duration_text(run.compile_seconds)}"
    rows += [("Speed", speed), *facts(run)]
    for name, train, validation in final_metrics(run):
        values = [("train", train), ("validation", validation)]
        rows.append((name, ", ".join(f"{kind} {number_text(value)}" for kind, value in values if value is not None)))
    width = max(len(label) for label, _ in rows)
    lines = [f"{ending_text(run)} ({progress_text(run)}{took})"]
    lines += [f"  {label:<{width}}  {text or 'no value'}" for label, text in rows]
    lines += [f"  Note: {finding}" for finding in findings(run)]
    count = len(run.changes)
    lines.append(f"  {count} change{'' if count == 1 else 's'} to your call:" if count else "  Nothing was changed.")
    if count:
        lines += [f"    {line}" for line in changes_text(run.changes).splitlines()]
    return "\n".join(lines)
