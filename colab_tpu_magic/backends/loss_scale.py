"""Divide losses by the replicas where Keras does not: losses of one number, and a ``compute_loss`` that takes a mean.

TensorFlow adds up the gradients of all replicas. Keras divides a loss of one number a row by their number for that, and
leaves a loss that comes as one number as it is. Private to Keras: ``keras.src.losses.loss.reduce_values`` and
``scale_loss_for_distribution``, which does nothing outside a strategy. Tried on keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MEANS = ("sum_over_batch_size", "mean", "mean_with_sample_weight")


TRAINING, EVALUATION = ("train_function", "test_function"), ("test_function",)
_scaled: set[int] = set()


@contextmanager
def scaled_losses(model: Any, with_compute_loss: bool = False, functions: tuple[str, ...] = TRAINING) -> Iterator[None]:
    """Divide losses by the replicas while steps are made. In an evaluation inside a fit, the fit's own stay as they are.

    Args:
        model: The model that is trained or evaluated.
        with_compute_loss: Whether what its ``compute_loss`` returns is such a loss, too.
        functions: The compiled steps that are made anew for it, and dropped after it.
    """
    if id(model) in _scaled:
        yield
        return
    from keras.src.losses import loss as module

    own, scale, held = module.reduce_values, module.scale_loss_for_distribution, vars(model)

    def reduce_values(values: Any, sample_weight: Any = None, reduction: Any = "sum_over_batch_size") -> Any:
        value = own(values, sample_weight, reduction)
        return scale(value) if tuple(values.shape) == () and reduction in MEANS else value

    def compute_loss(*args: Any, **kwargs: Any) -> Any:
        return scale(type(model).compute_loss(model, *args, **kwargs))

    _forget(model, functions)
    _scaled.add(id(model))
    if len(_scaled) == 1:  # another model inside it finds it there
        module.reduce_values = reduce_values
    if with_compute_loss:
        held["compute_loss"] = compute_loss
    try:
        yield
    finally:
        module.reduce_values = own
        if with_compute_loss:
            held.pop("compute_loss", None)
        _scaled.discard(id(model))
        _forget(model, functions)


def _forget(model: Any, functions: tuple[str, ...]) -> None:
    for name in functions:
        setattr(model, name, None)
