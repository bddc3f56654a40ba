"""Rule ``loss-scaling``: a train_step with a plain mean trains as it would on one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..prepared import PreparedFit
from ..single_losses import single_losses
from ..train_step import read_compute_loss, read_train_step
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions


class LossScaling(Rule):
    """Divide a loss of the user's own by the replicas, where it is one number for the rows of each."""

    id = "loss-scaling"
    title = "Loss of your own"
    why = (
        "TensorFlow adds up the gradients of all replicas. A loss of your own that is one mean over the rows of one "
        "replica makes the sum as many times too large, as if the learning rate were."
    )
    source = "tensorflow.org/tutorials/distribute/custom_training, loss scaling (2026); tried on keras 3.15"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Record what is divided; the training loop does it."""
        replicas, model = prepared.replicas, prepared.request.model
        if runtime.engine.name != "tensorflow" or replicas == 1:
            return prepared
        if read_train_step(model, replicas).kind == "mean":
            change = self.change("a mean over one replica's rows", f"gradients ÷ {replicas}, in the optimizer")
            return prepared.but(change, gradient_divisor=replicas)
        if read_compute_loss(model, replicas).kind == "mean":
            change = self.change("a mean over one replica's rows, of compute_loss", f"that loss ÷ {replicas}")
            return prepared.but(change, scaled_losses=True, scaled_compute_loss=True)
        names, certain = single_losses(model, prepared.data.example)
        if not names:
            return prepared
        where = "" if certain else " where it is"
        change = self.change(f"{', '.join(names)}: one number for a replica's rows", f"÷ {replicas}{where}")
        return prepared.but(change, scaled_losses=True)
