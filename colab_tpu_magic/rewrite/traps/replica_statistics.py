"""Trap ``statistics-per-replica``: what a TensorFlow replica works out from its own share of the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding import Finding
from ..model_parts import layers_of
from ..prepared import PreparedFit
from .base import Trap

if TYPE_CHECKING:
    from ...backends.base import Runtime

FEW_ROWS = 16


class ReplicaStatistics(Trap):
    """Batch normalization and masked losses take their means over the rows of one replica, not over the whole batch."""

    id = "statistics-per-replica"
    title = "Statistics of one replica's rows"
    source = "tensorflow.org/guide/distributed_training (2026); differences measured in docs/models.md"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Look for layers that normalise over rows, and for masks that reach the loss."""
        import keras

        if not runtime.engine.settles or prepared.replicas == 1:
            return []
        share = prepared.batch_size // prepared.replicas
        found: list[Finding] = []
        kind = keras.layers.BatchNormalization
        apart = [one for one in layers_of(prepared.request.model) if isinstance(one, kind) and not one.synchronized]
        if any(layer.trainable for layer in apart):
            found.append(
                self.finding(
                    "warning" if share < FEW_ROWS else "note",
                    f"BatchNormalization normalises with the {share} rows of one replica, not with the batch of "
                    f"{prepared.batch_size}; its moving statistics are averaged every epoch.",
                    "keras.layers.BatchNormalization(synchronized=True)",
                )
            )
        if _mask_reaches_the_loss(prepared.request.model):
            found.append(
                self.finding(
                    "note",
                    "The outputs carry a mask, and each replica takes the mean over its own unmasked steps: replicas "
                    "with fewer of them weigh as much as the others.",
                )
            )
        return found


def _mask_reaches_the_loss(model: object) -> bool:
    import keras

    outputs = keras.tree.flatten(getattr(model, "outputs", None) or ())
    return any(getattr(output, "_keras_mask", None) is not None for output in outputs)
