"""The best epoch of a run: the one with the lowest validation loss."""

from __future__ import annotations

from dataclasses import dataclass

from ..training.run import Run


@dataclass(frozen=True)
class Best:
    """The epoch with the lowest validation loss.

    Attributes:
        epoch: Its number.
        step: Its last step.
        loss: Its validation loss.
    """

    epoch: int
    step: int
    loss: float

    @property
    def text(self) -> str:
        """Say it: ``"best: epoch 4, 0.312"``."""
        return f"best: epoch {self.epoch}, {self.loss:.3g}"


def best_of(run: Run) -> Best | None:
    """Return the epoch with the lowest validation loss, None before two validations."""
    found = run.best_epoch
    if found is None:
        return None
    epoch, step = found
    losses = run.validation["loss"]
    return Best(epoch, step, losses.values[losses.steps.index(step)])
