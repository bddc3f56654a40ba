"""Rule ``learning-rate``: a larger batch gets a larger step, within a cap."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...backends.variables import scalar
from ..prepared import PreparedFit
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions

ADAPTIVE_CAP = 4.0
SGD_CAP = 8.0
WORTH_IT = 1.2


class LearningRate(Rule):
    """Scale a plain number: square root for adaptive optimizers, linear for SGD."""

    id = "learning-rate"
    title = "Learning rate"
    why = (
        "A larger batch makes fewer, less noisy steps, so each may go further: the square root of the growth for "
        "adaptive optimizers, the growth itself for SGD. We never go beyond 4 times (adaptive) or 8 times (SGD)."
    )
    source = "Goyal et al. 2017 (linear, SGD); Malladi et al. 2022 (square root, Adam and RMSprop); the caps are ours"

    @property
    def switch(self) -> str:
        """What to type to keep the user's learning rate."""
        return "--learning-rate keep"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Set the rate that was asked for, or scale the user's when the batch grew."""
        optimizer = prepared.request.model.optimizer
        rate = plain_rate(optimizer)
        if isinstance(options.learning_rate, float | int):
            if rate is None:
                return prepared
            wanted = float(options.learning_rate)
            return prepared.but(
                self.change(f"{rate:g}", f"{wanted:g}", "You asked for this rate."), learning_rate=wanted
            )
        if options.learning_rate == "keep" or rate is None or _ruled_by_callback(prepared.request.callbacks):
            return prepared
        growth = prepared.batch_size / prepared.request.batch_size
        if growth < WORTH_IT:
            return prepared
        factor = rate_factor(growth, is_sgd(optimizer))
        why = self.why + " When the fit ends, the optimizer has your own rate again."
        return prepared.but(
            self.change(f"{rate:.4g}", f"{rate * factor:.4g} (× {factor:.3g})", why),
            learning_rate=rate * factor,
            rate_factor=factor,
        )


def plain_rate(optimizer: Any) -> float | None:
    """Return the learning rate when it is a plain number, else None (a schedule)."""
    import keras

    inner = getattr(optimizer, "inner_optimizer", None) or optimizer
    if not isinstance(getattr(inner, "_learning_rate", None), keras.Variable):  # a schedule or a function
        return None
    try:
        return scalar(inner.learning_rate)
    except (TypeError, ValueError, AttributeError):
        return None


def rate_factor(growth: float, sgd: bool) -> float:
    """Return how much the rate grows with the batch.

    Args:
        growth: New batch size over old.
        sgd: Whether the optimizer is SGD.

    Example:
        >>> rate_factor(4.0, sgd=False), rate_factor(4.0, sgd=True), rate_factor(64.0, sgd=False)
        (2.0, 4.0, 4.0)
    """
    return min(growth, SGD_CAP) if sgd else min(math.sqrt(growth), ADAPTIVE_CAP)


def is_sgd(optimizer: Any) -> bool:
    """Return whether an optimizer is SGD, wrapped or not."""
    import keras

    return isinstance(getattr(optimizer, "inner_optimizer", None) or optimizer, keras.optimizers.SGD)


def _ruled_by_callback(callbacks: tuple[Any, ...]) -> bool:
    import keras

    return any(isinstance(callback, keras.callbacks.LearningRateScheduler) for callback in callbacks)
