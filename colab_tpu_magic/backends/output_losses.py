"""Count every row once in the loss of each output, on TensorFlow.

Keras weighs each batch's loss of an output with the batch size that a tensor's shape tells. A graph of TensorFlow's does
not know it where batches differ, and then a last batch of three rows weighs as much as one of sixteen (keras 3.10 to 3.15).

Private to Keras: ``Model._compile_loss``, and that ``CompileLoss.call`` asks ``metrics`` for what it updates. Tried on
keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def rows_counted(model: Any) -> Iterator[None]:
    """Have a model's losses of single outputs weigh each batch with its rows.

    Args:
        model: A Keras model; one without a loss of Keras' own making is left alone.
    """
    loss = getattr(model, "_compile_loss", None)
    own: Any = type(loss)
    if own.__name__ != "CompileLoss":
        yield
        return
    loss.__class__ = _counting(own)
    try:
        yield
    finally:
        loss.__class__ = own


class _Counted:
    """A metric that is told how many rows its value is of."""

    def __init__(self, metric: Any, rows: Any) -> None:
        self._metric, self._rows = metric, rows

    def update_state(self, value: Any, sample_weight: Any = None) -> None:
        self._metric.update_state(value, sample_weight=self._rows)


@cache
def _counting(own: type) -> type:
    base: Any = own

    class CountingLoss(base):
        """Keras' own, whose metrics are told of rows while it is called."""

        _rows: Any = None

        def call(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
            import keras
            import tensorflow as tf

            self._rows = tf.shape(keras.tree.flatten(y_pred)[0])[0]
            try:
                return super().call(y_true, y_pred, sample_weight)
            finally:
                self._rows = None

        @property
        def metrics(self) -> Any:
            found = super().metrics
            return found if self._rows is None else [metric and _Counted(metric, self._rows) for metric in found]

    return CountingLoss
