"""Trap ``indivisible-batch``: a batch that does not divide over the replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...finding import Finding
from ...prepared import PreparedFit
from ..base import Trap

if TYPE_CHECKING:
    from ....backends.base import Runtime


class IndivisibleBatch(Trap):
    """Each replica gets an equal share of a batch: 43 rows cannot be shared by 8 replicas.

    Plain Keras stops there, on JAX with an error about sharding, or a ZeroDivisionError. The rule
    ``batch-size`` takes the next batch that can be shared, and ``static-shapes`` keeps every batch at it.
    """

    id = "indivisible-batch"
    title = "Batch that cannot be shared"
    source = "keras#21167, jax#3088"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Divide the user's batch over the replicas."""
        size, replicas = prepared.request.batch_size, prepared.replicas
        if size % replicas == 0:
            return []
        message = (
            f"A batch of {size:,} rows does not divide over {replicas} replicas: plain Keras stops at it, and %%tpu_fit "
            f"trains batches of {prepared.batch_size:,} instead."
        )
        return [self.finding("note", message, f"model.fit(..., batch_size={-(-size // replicas) * replicas})")]
