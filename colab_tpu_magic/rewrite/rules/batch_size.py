"""Rule ``batch-size``: a global batch that fills the replicas and still leaves enough steps to learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import OptionError
from ..model_parts import fixed_batch_size
from ..prepared import PreparedFit, steps_for
from ..sources import ArraySource
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions

ROWS_PER_REPLICA = 128
TILE_ROWS = 8
MIN_STEPS_PER_EPOCH = 50


class BatchSize(Rule):
    """Aim at 128 rows per replica; never below the user's own, never under 50 steps an epoch."""

    id = "batch-size"
    title = "Global batch size"
    why = (
        "A TPU multiplies tiles of 8 × 128, and each replica gets an equal share of the batch: 128 rows per replica "
        "fill its matrix unit. The batch stops growing where an epoch would have fewer than 50 steps to learn from."
    )
    source = (
        "cloud.google.com/tpu/docs/performance-guide (2026); the 50 steps are ours, near the 60 of the 2018 article"
    )

    @property
    def switch(self) -> str:
        """What to type to keep the user's batch size."""
        return "--batch-size keep"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Choose the global batch size and the steps of an epoch."""
        request = prepared.request
        rows = request.rows_per_epoch
        fixed = fixed_batch_size(request.model)
        if fixed is not None:
            _check_fixed(fixed, options.batch_size)
            return self._with(
                prepared, fixed, "The model was made for batches of just this size, as a stateful RNN is."
            )
        if isinstance(options.batch_size, int):
            chosen = _asked_for(options.batch_size, prepared)
            why = getattr(options, "because", "") or "You asked for this batch size."
            return self._with(prepared, chosen, why)
        user = request.batch_size if rows is None or request.steps_per_epoch else min(request.batch_size, rows)
        chosen = round_up(user, prepared.replicas)
        if options.batch_size == "auto":
            chosen = auto_batch_size(user, rows, prepared.replicas)
        why = "" if options.batch_size == "auto" else "The batch must divide evenly over the replicas."
        return self._with(prepared, chosen, why, unchanged=user)

    def _with(self, prepared: PreparedFit, chosen: int, why: str, unchanged: int | None = None) -> PreparedFit:
        steps = steps_for(prepared.request.rows_per_epoch, chosen)
        if chosen in (prepared.request.batch_size, unchanged):
            return prepared.but(batch_size=chosen, steps_per_epoch=steps)
        before = str(prepared.request.batch_size)
        after = f"{chosen:,}"
        if prepared.replicas > 1:
            after += f" ({prepared.replicas} × {chosen // prepared.replicas})"
        if steps:
            after += f", {steps} step{'s' if steps != 1 else ''} an epoch"
        return prepared.but(self.change(before, after, why), batch_size=chosen, steps_per_epoch=steps)

    def skip(self, prepared: PreparedFit) -> PreparedFit:
        """Keep the user's batch size, which must then divide over the replicas."""
        size = prepared.request.batch_size
        if size % prepared.replicas:
            raise OptionError(
                f"The batch of {size} does not divide over {prepared.replicas} replicas, and --no batch-size keeps it.",
                expected=f"a multiple of {prepared.replicas}.",
                type_next=f"model.fit(..., batch_size={round_up(size, prepared.replicas)})",
            )
        return prepared.but(steps_per_epoch=steps_for(prepared.request.rows_per_epoch, size))


def round_up(number: int, multiple: int) -> int:
    """Return the smallest multiple that is not below a number.

    Example:
        >>> round_up(50, 8)
        56
    """
    return -(-number // multiple) * multiple


def auto_batch_size(user: int, rows: int | None, replicas: int) -> int:
    """Return the global batch size that ``--batch-size auto`` uses.

    Args:
        user: The user's batch size, rows.
        rows: Rows in an epoch, or None when unknown.
        replicas: Devices that share the batch.

    Example:
        >>> auto_batch_size(32, 60_000, 8), auto_batch_size(32, 4_000, 8), auto_batch_size(32, 4_000, 1)
        (1024, 64, 64)
    """
    smallest = round_up(user, replicas)
    best = smallest
    per_replica = TILE_ROWS
    while per_replica <= ROWS_PER_REPLICA:
        size = per_replica * replicas
        if size >= smallest and (rows is not None and rows >= MIN_STEPS_PER_EPOCH * size):
            best = size
        per_replica *= 2
    if best == smallest and smallest // replicas > ROWS_PER_REPLICA:
        tidy = round_up(smallest, TILE_ROWS * replicas)
        return tidy if rows is None or tidy <= rows else smallest
    return best


def _check_fixed(fixed: int, asked: int | str) -> None:
    if isinstance(asked, int) and asked != fixed:
        raise OptionError(
            f"--batch-size {asked} cannot hold: the model was made for batches of exactly {fixed} rows.",
            expected="the model's own batch size, or keras.Input without batch_size.",
            type_next="--batch-size keep",
        )


def _asked_for(size: int, prepared: PreparedFit) -> int:
    data = prepared.request.data
    if isinstance(data, ArraySource) and size > data.rows:
        raise OptionError(
            f"--batch-size {size} is larger than the data, which has {data.rows:,} rows.",
            expected="a batch of at most all rows.",
            type_next="--batch-size auto",
        )
    if size % prepared.replicas:
        raise OptionError(
            f"--batch-size {size} does not divide over {prepared.replicas} replicas.",
            expected=f"a multiple of {prepared.replicas}.",
            type_next=f"--batch-size {round_up(size, prepared.replicas)}",
        )
    return size
