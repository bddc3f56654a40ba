"""Rule ``loss-scaling``: a train_step with a plain mean trains as it would on one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..prepared import PreparedFit
from ..train_step import read_train_step
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions


class LossScaling(Rule):
    """Divide the gradients of a train_step of the user's own by the replicas, where its loss is a plain mean."""

    id = "loss-scaling"
    title = "Loss of your train_step"
    why = (
        "TensorFlow adds up the gradients of all replicas. The mean in your train_step is one over the rows of one "
        "replica, so the sum would be as many times too large, as if the learning rate were."
    )
    source = "tensorflow.org/tutorials/distribute/custom_training, loss scaling (2026); tried on keras 3.15"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Record the divisor; the training loop applies it."""
        if runtime.engine.name != "tensorflow" or prepared.replicas == 1:
            return prepared
        if read_train_step(prepared.request.model, prepared.replicas).kind != "mean":
            return prepared
        change = self.change("a mean over one replica's rows", f"gradients ÷ {prepared.replicas}, in the optimizer")
        return prepared.but(change, gradient_divisor=prepared.replicas)
