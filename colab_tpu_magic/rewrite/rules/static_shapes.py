"""Rule ``static-shapes``: every training batch has the same shape, and no row is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..prepared import PreparedFit
from ..sources import ArraySource
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions


class StaticShapes(Rule):
    """Complete the last batch of an epoch from the next shuffle; evaluate every row exactly once."""

    id = "static-shapes"
    title = "Full batches"
    why = (
        "XLA compiles the step for one shape, and the replicas need equal shares. The last batch of an epoch is "
        "completed with the first rows of the next shuffle; evaluation still counts every row exactly once."
    )
    source = "cloud.google.com/tpu/docs/performance-guide, static shapes (2026); the 2018 article's repeat-then-batch"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Make all training batches full."""
        prepared = prepared.but(full_batches=True)
        data = prepared.data
        if not isinstance(data, ArraySource):
            if data.batch_size == prepared.batch_size:
                return prepared
            return prepared.but(
                self.change(f"batches of {data.batch_size:,}", f"batches of {prepared.batch_size:,}, every one full")
            )
        over = data.rows % prepared.batch_size
        if not over or prepared.request.steps_per_epoch:
            return prepared
        return prepared.but(
            self.change(
                f"last batch of {over:,} row{'s' if over != 1 else ''}", f"every batch {prepared.batch_size:,} rows"
            )
        )
