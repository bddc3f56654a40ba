"""Find where an optimizer keeps its learning rate.

Private to Keras: ``_learning_rate`` and ``_iterations`` of an optimizer. Tried on keras 3.10.0,
3.13.2 and 3.15.1.
"""

from __future__ import annotations

from typing import Any

import keras

from .variables import optimizers_of, scalar


def inner_optimizer(model: Any) -> Any:
    """Return the optimizer that applies the learning rate: the one inside a loss-scaling wrapper."""
    optimizer = getattr(model, "optimizer", None)
    return getattr(optimizer, "inner_optimizer", None) or optimizer


def adjustable(model: Any) -> bool:
    """Return whether the learning rate is a plain number that can be set."""
    return isinstance(getattr(inner_optimizer(model), "_learning_rate", None), keras.Variable)


def rate_variable(model: Any) -> Any:
    """Return the variable that tells the learning rate: the rate itself, or a schedule's iterations; None without."""
    optimizer = inner_optimizer(model)
    rate = getattr(optimizer, "_learning_rate", None)
    if isinstance(rate, keras.Variable):
        return rate
    return getattr(optimizer, "_iterations", None) if is_schedule(rate) else None


def scheduled_rate(model: Any, iterations: Any) -> float:
    """Return what a schedule says at a number of iterations."""
    return scalar(inner_optimizer(model)._learning_rate(iterations))


def is_schedule(rate: Any) -> bool:
    """Return whether a learning rate is a Keras schedule."""
    return isinstance(rate, keras.optimizers.schedules.LearningRateSchedule)


def why_locked(model: Any, callbacks: Any) -> str:
    """Return why the learning rate cannot be set by hand, empty when it can.

    Args:
        model: The compiled model.
        callbacks: The user's callbacks; one that sets the rate each epoch would undo a setting.
    """
    optimizer = inner_optimizer(model)
    if optimizer is None:
        return "the model has no optimizer"
    if any(one not in (optimizer, model.optimizer) for one in optimizers_of(model)):
        return "the model trains with several optimizers"
    rate = getattr(optimizer, "_learning_rate", None)
    if is_schedule(rate):
        return f"the schedule {type(rate).__name__} sets it"
    if not adjustable(model):
        return "the optimizer does not keep it as a number"
    if any(isinstance(callback, keras.callbacks.LearningRateScheduler) for callback in callbacks):
        return "the callback LearningRateScheduler sets it"
    return ""
