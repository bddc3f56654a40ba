"""Rule ``loss-scaling``: a train_step with a plain mean trains as it would on one device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..prepared import PreparedFit
from ..single_losses import kind_of_compute_loss, kinds_of_losses
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
        wanted = what_is_scaled(model, replicas, prepared.data.example)
        if wanted.compute_loss:
            change = self.change("a mean over one replica's rows, of compute_loss", f"that loss ÷ {replicas}")
            return prepared.but(change, scaled_losses=True, scaled_compute_loss=True)
        if not wanted.names:
            return prepared
        where = "" if wanted.certain else " where it is a mean"
        change = self.change(f"{', '.join(wanted.names)}: one number for a replica's rows", f"÷ {replicas}{where}")
        return prepared.but(change, scaled_losses=True)


@dataclass(frozen=True)
class Scaled:
    """What is divided by the replicas.

    Attributes:
        names: The loss functions that give one number, or may.
        certain: Whether that is known.
        compute_loss: Whether it is what the model's own ``compute_loss`` gives.
    """

    names: tuple[str, ...] = ()
    certain: bool = True
    compute_loss: bool = False


def what_is_scaled(model: Any, replicas: int, batch: Any) -> Scaled:
    """Return what of a model's losses is divided. A sum is not: the replicas' sums add up to that of all rows.

    Args:
        model: A compiled Keras model on several TensorFlow replicas.
        replicas: How many.
        batch: A batch of its data.
    """
    read = read_compute_loss(model, replicas).kind
    if read in ("mean", "unclear"):
        kind = kind_of_compute_loss(model, batch)
        return Scaled(compute_loss=kind == "mean" or (kind == "unclear" and read == "mean"))
    found = kinds_of_losses(model, batch)
    if "sum" in found.values():
        return Scaled()
    names = tuple(name for name, kind in found.items() if kind != "rows")
    return Scaled(names, "unclear" not in found.values())
