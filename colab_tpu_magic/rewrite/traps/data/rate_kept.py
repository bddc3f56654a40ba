"""Trap ``rate-kept``: the batch grew and the learning rate did not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...finding import Finding
from ...prepared import PreparedFit
from ..base import Trap

if TYPE_CHECKING:
    from ....backends.base import Runtime

GREW = 4.0


class RateKept(Trap):
    """A batch eight times as large makes an eighth of the steps, and with the old rate gets an eighth as far.

    This is the usual reason for "the TPU is less accurate than my GPU". The rule ``learning-rate`` scales the
    rate with the batch; switched off, it is yours to raise, or there have to be more epochs.
    """

    id = "rate-kept"
    title = "Large batch, old learning rate"
    source = "tensorflow#67301, tensorflow#36912; Goyal et al. 2017"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Compare how the batch grew with what became of the rate."""
        from ...rules.learning_rate import is_sgd, plain_rate, rate_factor

        growth = prepared.batch_size / prepared.request.batch_size
        if growth < GREW or prepared.learning_rate is not None or _ruled_elsewhere(prepared.request.callbacks):
            return []
        optimizer = prepared.request.model.optimizer
        rate = plain_rate(optimizer)
        if rate is None:
            return []
        scaled = rate * rate_factor(growth, is_sgd(optimizer))
        message = (
            f"The batch grew {growth:.3g} times, to {prepared.batch_size:,} rows, and the learning rate stays {rate:.3g}: "
            "an epoch gets less far than before."
        )
        return [self.finding("note", message, f"%%tpu_fit --learning-rate {scaled:.3g}")]


def _ruled_elsewhere(callbacks: tuple[Any, ...]) -> bool:
    import keras

    return any(isinstance(callback, keras.callbacks.LearningRateScheduler) for callback in callbacks)
