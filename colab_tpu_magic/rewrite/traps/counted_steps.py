"""Trap ``counted-in-steps``: what counts steps comes later, or means more rows, when the batch grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...backends.learning_rate import inner_optimizer, is_schedule
from ..finding import Finding
from ..prepared import PreparedFit
from .base import Trap

if TYPE_CHECKING:
    from ...backends.base import Runtime

STEP_SETTINGS = ("decay_steps", "first_decay_steps", "warmup_steps")
NOTICEABLE = 1.2


class CountedSteps(Trap):
    """Schedules, gradient accumulation and averaging count steps, and a larger batch makes fewer steps of the same rows."""

    id = "counted-in-steps"
    title = "Settings that count steps"
    source = "keras.io/api/optimizers/learning_rate_schedules (2026): a schedule is given the number of the step"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Look at what the optimizer and the callbacks count."""
        growth = prepared.batch_size / prepared.request.batch_size
        if growth < NOTICEABLE:
            return []
        optimizer = inner_optimizer(prepared.request.model)
        rate = getattr(optimizer, "_learning_rate", None)
        found: list[Finding] = []
        if is_schedule(rate):
            found.append(self._schedule(rate, growth))
        accumulates = getattr(optimizer, "gradient_accumulation_steps", None)
        if accumulates:
            fewer = max(2, round(accumulates / growth))
            found.append(
                self.finding(
                    "warning",
                    f"The batch grew {growth:.3g} times, so {accumulates} accumulated steps are now "
                    f"{accumulates * prepared.batch_size:,} rows for one update instead of "
                    f"{accumulates * prepared.request.batch_size:,}.",
                    f"gradient_accumulation_steps={fewer} (or none), or %%tpu_fit --batch-size keep",
                )
            )
        for callback in prepared.request.callbacks:
            every = getattr(callback, "save_freq", None)
            if isinstance(every, int) and every > 1:
                found.append(
                    self.finding(
                        "note",
                        f"{type(callback).__name__}(save_freq={every}) counts batches, which are {growth:.3g} times "
                        "larger now.",
                        f"save_freq={max(1, round(every / growth))}",
                    )
                )
        return found

    def _schedule(self, schedule: Any, growth: float) -> Finding:
        name = type(schedule).__name__
        settings = [(key, getattr(schedule, key, None)) for key in STEP_SETTINGS]
        shorter = [
            f"{key}={max(1, round(value / growth))}" for key, value in settings if isinstance(value, int) and value > 0
        ]
        type_next = f"{name}(..., {', '.join(shorter)}), or " if shorter else ""
        return self.finding(
            "warning",
            f"The learning rate follows {name}, which counts steps. The batch grew {growth:.3g} times, so an epoch has "
            f"that many steps fewer and the schedule comes less far; the rule learning-rate leaves schedules alone.",
            f"{type_next}%%tpu_fit --batch-size keep",
        )
