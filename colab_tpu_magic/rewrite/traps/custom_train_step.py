"""Trap ``custom-train-step``: a step of the user's own that several TensorFlow replicas would change in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding import Finding
from ..prepared import PreparedFit
from ..single_losses import kind_of_compute_loss
from ..train_step import TrainStep, read_compute_loss, read_train_step
from .base import Trap

if TYPE_CHECKING:
    from ...backends.base import Runtime

PLAIN = "for a plain mean over the rows"
REPLICAS = "tf.distribute.get_strategy().num_replicas_in_sync"


class CustomTrainStep(Trap):
    """A train_step of your own may train with a multiple of its loss, or log a fraction of it, on several replicas."""

    id = "custom-train-step"
    title = "A train_step of your own"
    source = "tensorflow.org/tutorials/distribute/custom_training, loss scaling (2026); measured, November 2026"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Look at the text of the model's train_step."""
        if runtime.engine.name != "tensorflow" or prepared.replicas == 1:
            return []
        model, replicas = prepared.request.model, prepared.replicas
        step = read_train_step(model, replicas)
        found = [
            self.finding("warning", self._told(read, name, replicas), f"loss = loss / {REPLICAS}  # {PLAIN}")
            for name, read in (("train_step", step), ("compute_loss", read_compute_loss(model, replicas)))
            if read.kind in ("unclear", "mixed") and not (name == "compute_loss" and self._known(prepared, read))
        ]
        if step.kind == "mean" and prepared.gradient_divisor is None:
            found.append(self.finding("warning", self._multiplied(step.owner, prepared), f"loss = loss / {REPLICAS}"))
        for name in step.logged:
            found.append(
                self.finding(
                    "warning",
                    f"{step.owner}.train_step logs {name!r} as it comes from a Keras loss, which is divided by the "
                    f"{prepared.replicas} replicas there: the figure shown is 1/{prepared.replicas} of the loss. "
                    "What is trained is right.",
                    f"tracker.update_state({name} * {REPLICAS})",
                )
            )
        return found

    def _known(self, prepared: PreparedFit, read: TrainStep) -> bool:
        """Return whether a ``compute_loss`` whose text tells nothing gave a mean or a sum when it was called."""
        if prepared.scaled_compute_loss:
            return True
        return read.kind == "unclear" and kind_of_compute_loss(prepared.request.model, prepared.data.example) == "sum"

    def _told(self, read: TrainStep, name: str, replicas: int) -> str:
        how = "mixes losses of Keras with means of its own" if read.kind == "mixed" else "makes its loss by itself"
        return (
            f"{read.owner}.{name} {how}. TensorFlow adds up the gradients of all {replicas} replicas, so each part of the "
            "loss has to be divided by their number; Keras' losses and compute_loss are, a plain mean is not."
        )

    def _multiplied(self, owner: str, prepared: PreparedFit) -> str:
        return (
            f"{owner}.train_step takes a plain mean over the rows of one replica, and TensorFlow adds up the gradients "
            f"of {prepared.replicas}: it trains with {prepared.replicas} times the learning rate."
        )
