"""Divide the gradients that a TensorFlow train_step hands to its optimizers.

Public names of Keras only: ``Optimizer.apply``. Tried on keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .variables import forget_functions, optimizers_of


@contextmanager
def divided_gradients(model: Any, divisor: int | None) -> Iterator[None]:
    """Divide every gradient of a model's optimizers while entered; do nothing for None.

    Args:
        model: The model whose `train_step` calls ``apply`` or ``apply_gradients``.
        divisor: The number of replicas.
    """
    if divisor is None:
        yield
        return
    found = optimizers_of(model)
    inner = [getattr(optimizer, "inner_optimizer", None) for optimizer in found]
    outer = [optimizer for optimizer in found if not any(optimizer is one for one in inner)]
    for optimizer in outer:
        optimizer.apply = _dividing(optimizer.apply, divisor)
    forget_functions(model)
    try:
        yield
    finally:
        for optimizer in outer:
            del optimizer.apply
        forget_functions(model)


def _dividing(apply: Any, divisor: int) -> Any:
    def divided(grads: Any, trainable_variables: Any = None) -> Any:
        return apply([_divide(gradient, divisor) for gradient in grads], trainable_variables)

    return divided


def _divide(gradient: Any, divisor: int) -> Any:
    import tensorflow as tf

    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(gradient.values / divisor, gradient.indices, gradient.dense_shape)
    return gradient / divisor
