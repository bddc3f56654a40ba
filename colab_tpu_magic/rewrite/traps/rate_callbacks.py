"""Trap ``rate-set-by-callback``: a callback that sets the learning rate decides it, whatever the batch became."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding import Finding
from ..prepared import PreparedFit
from .base import Trap

if TYPE_CHECKING:
    from ...backends.base import Runtime


class RateCallbacks(Trap):
    """A scheduler callback sets the rate that fits your batch, not the larger one; a smallest rate meets a scaled one."""

    id = "rate-set-by-callback"
    title = "Learning rate set by a callback"
    source = "keras.io/api/callbacks/learning_rate_scheduler and reduce_lr_on_plateau (2026)"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Look for Keras' two callbacks that set the rate."""
        import keras

        from ..rules.learning_rate import WORTH_IT, is_sgd, rate_factor

        growth = prepared.batch_size / prepared.request.batch_size
        found: list[Finding] = []
        for callback in prepared.request.callbacks:
            if isinstance(callback, keras.callbacks.LearningRateScheduler) and growth >= WORTH_IT:
                factor = rate_factor(growth, is_sgd(prepared.request.model.optimizer))
                found.append(
                    self.finding(
                        "warning",
                        f"LearningRateScheduler sets the rate itself, so it was not scaled, although the batch grew "
                        f"{growth:.3g} times. For this batch the rule would multiply it by {factor:.3g}.",
                        f"LearningRateScheduler(lambda epoch, rate: {factor:.3g} * …), or %%tpu_fit --batch-size keep",
                    )
                )
            elif isinstance(callback, keras.callbacks.ReduceLROnPlateau) and prepared.rate_factor != 1.0:
                if callback.min_lr:
                    found.append(
                        self.finding(
                            "note",
                            f"ReduceLROnPlateau(min_lr={callback.min_lr:g}) is compared with the scaled rate, which is "
                            f"{prepared.rate_factor:.3g} times yours during the fit.",
                            f"min_lr={callback.min_lr * prepared.rate_factor:g}",
                        )
                    )
        return found
