"""Divide losses by the replicas where Keras does not: losses of one number, and a ``compute_loss`` that takes a mean.

TensorFlow adds up the gradients of all replicas. Keras divides a loss of one number a row by their number for that, and
leaves a loss that comes as one number as it is. Private to Keras: ``keras.src.losses.loss.reduce_values`` and
``scale_loss_for_distribution``, which does nothing outside a strategy. Tried on keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .variables import forget_functions

MEANS = ("sum_over_batch_size", "mean", "mean_with_sample_weight")


@contextmanager
def scaled_losses(model: Any, with_compute_loss: bool = False) -> Iterator[None]:
    """Divide losses by the replicas while steps are made.

    Args:
        model: The model that is trained or evaluated.
        with_compute_loss: Whether what its ``compute_loss`` returns is such a loss, too.
    """
    from keras.src.losses import loss as module

    own, scale, held = module.reduce_values, module.scale_loss_for_distribution, vars(model)

    def reduce_values(values: Any, sample_weight: Any = None, reduction: Any = "sum_over_batch_size") -> Any:
        value = own(values, sample_weight, reduction)
        return scale(value) if tuple(values.shape) == () and reduction in MEANS else value

    def compute_loss(*args: Any, **kwargs: Any) -> Any:
        return scale(type(model).compute_loss(model, *args, **kwargs))

    forget_functions(model)
    module.reduce_values = reduce_values
    if with_compute_loss:
        held["compute_loss"] = compute_loss
    try:
        yield
    finally:
        module.reduce_values = own
        if with_compute_loss:
            held.pop("compute_loss", None)
        forget_functions(model)
