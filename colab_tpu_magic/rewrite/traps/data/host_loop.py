"""Trap ``host-loop``: steps_per_execution on a Keras whose JAX trainer loops on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....hardware.packages import version_tuple
from ...finding import Finding
from ...prepared import PreparedFit
from ..base import Trap

if TYPE_CHECKING:
    from ....backends.base import Runtime

LAST_WITH_LOOP = (3, 15)
"""The newest Keras whose JAX trainer was read: it has the loop, 3.15.1, November 2026."""


class HostLoop(Trap):
    """With ``steps_per_execution=32`` TensorFlow sends 32 steps to the device at once and saves the way 31 times.

    Keras on JAX runs them one by one in a Python loop up to 3.15, so that the number saves little there; only
    callbacks and metrics are served less often.
    """

    id = "host-loop"
    title = "steps_per_execution on JAX"
    source = "keras PR#23527; keras/src/backend/jax/trainer.py of 3.15.1"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Look at the model's steps_per_execution and the version of Keras."""
        import keras

        steps = int(prepared.request.model.steps_per_execution or 1)
        if runtime.backend != "jax" or steps == 1 or version_tuple(keras.__version__)[:2] > LAST_WITH_LOOP:
            return []
        message = (
            f"steps_per_execution is {steps}, and keras {keras.__version__} on JAX runs these steps one by one from "
            "Python: it saves little, and callbacks hear of every step that many times later."
        )
        return [self.finding("note", message, "model.compile(..., steps_per_execution=1)")]
