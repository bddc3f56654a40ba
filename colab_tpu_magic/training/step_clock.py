"""Time the steps of a run, and split the time into waiting for data and computing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..rewrite.waits import Waits
    from .run import Run


class StepClock:
    """Add up the time of steps over stretches without validation, pause or first compilation.

    Args:
        run: Gets ``train_seconds``, ``timed_steps``, ``data_wait_seconds`` and ``latest_step_ms``.
        waits: Counts the waiting of the training feed.
        takes_batches: Whether a step takes its batches by itself, so that its waiting is worked
            out from when it began and ended.
    """

    def __init__(self, run: Run, waits: Waits, takes_batches: bool) -> None:
        self.run = run
        self.waits = waits
        self.takes_batches = takes_batches
        self._at: float | None = None
        self._step = 0
        self._waited = 0.0
        self._dispatched_at: float | None = None
        self._dispatched_step = 0

    def restart(self, now: float, step: int) -> None:
        """Begin a stretch: what came before it is not counted."""
        self._at, self._step, self._waited = now, step, self.waits.seconds

    def stop(self) -> None:
        """End the stretch without counting its rest."""
        self._at = self._dispatched_at = None

    def step_begins(self, now: float, step: int) -> None:
        """Work out the waiting of the step that has just ended, where the backend's step does not tell.

        Args:
            now: ``time.perf_counter()``.
            step: Steps that have ended.
        """
        if self._dispatched_at is not None:
            self.waits.of_steps(self._dispatched_at, now, step - self._dispatched_step)
        self._dispatched_at, self._dispatched_step = now, step

    def lap(self, now: float, step: int) -> None:
        """Count the time since the stretch began or the last lap."""
        if self._at is not None and step > self._step:
            seconds, steps = now - self._at, step - self._step
            waited = min(seconds, self.waits.seconds - self._waited)
            self.run.train_seconds += seconds
            self.run.timed_steps += steps
            self.run.data_wait_seconds += waited
            self.run.latest_step_ms = (1000 * waited / steps, 1000 * (seconds - waited) / steps)
            self.restart(now, step)
