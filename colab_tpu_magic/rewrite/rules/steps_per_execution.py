"""Rule ``steps-per-execution``: several steps in one dispatch, where that saves time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..batch_hooks import wants_every_batch
from ..prepared import PreparedFit
from ..sources import ArraySource
from .base import Rule
from .batch_size import round_up

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions

MOST_STEPS = 32
# A step that is next to nothing is over before a dispatch is: on TensorFlow 64 at once made 11,000 of them a second and
# 16 made 7,200. Stop and the charts wait for a few milliseconds all the same.
MOST_TINY_STEPS, FEWEST_TINY_DISPATCHES = 64, 4
TINY_STEP = 10**8
"""Multiplications up to which a step is tiny: a few milliseconds on one CPU core."""
# Keras on JAX loops on the host (keras 3.10 to 3.15): 16 steps save what is to be saved, and Stop waits for
# no more than those. On eight simulated replicas there was nothing to save.
MOST_STEPS_ON_JAX = 16
FEWEST_DISPATCHES = 10


class StepsPerExecution(Rule):
    """Run several steps per dispatch: up to 32 on TensorFlow (64 tiny ones), up to 16 on JAX with one device."""

    id = "steps-per-execution"
    title = "Steps per execution"
    why = (
        "Each dispatch from Python costs about as much as a small step: on TensorFlow 2.7 ms a step fell to 0.9 ms "
        "with 32 steps in one, on JAX four in one gave 1.4 times the steps a second (tiny models, two CPU cores, November 2026)."
    )
    source = "keras.io/api/models/model_training_apis (steps_per_execution); measured, see docs/performance.md"

    @property
    def switch(self) -> str:
        """What to type to have one step per dispatch."""
        return "--steps-per-execution keep"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Choose how many steps go out at once, and let them divide the epoch."""
        has = int(prepared.request.model.steps_per_execution)
        wanted = has
        if isinstance(options.steps_per_execution, int):
            wanted = options.steps_per_execution
        elif options.steps_per_execution == "auto" and has == 1 and prepared.shapes == 1:
            # Several shapes in one dispatch would be compiled in every order in which they come.
            if not watches_batches(prepared.request.callbacks):
                tiny = runtime.engine.name == "tensorflow" and is_tiny(prepared)
                most = most_steps(runtime.engine.name, prepared.replicas, tiny)
                wanted = auto_steps(
                    prepared.steps_per_epoch, most, FEWEST_TINY_DISPATCHES if tiny else FEWEST_DISPATCHES
                )
        steps = prepared.steps_per_epoch
        if wanted == has and (wanted == 1 or steps is None or steps % wanted == 0):
            return prepared
        before, after = str(has), str(wanted)
        if steps is not None and steps % wanted:
            steps = round_up(steps, wanted)
            after += f", an epoch of {steps} steps instead of {prepared.steps_per_epoch}"
        return prepared.but(self.change(before, after), steps_per_execution=wanted, steps_per_epoch=steps)


def most_steps(backend: str, replicas: int, tiny: bool = False) -> int:
    """Return the most steps in one dispatch that pay on a backend."""
    if backend == "tensorflow":
        return MOST_TINY_STEPS if tiny else MOST_STEPS
    return MOST_STEPS_ON_JAX if replicas == 1 else 1


def auto_steps(steps_per_epoch: int | None, most: int = MOST_STEPS, fewest: int = FEWEST_DISPATCHES) -> int:
    """Return the largest divisor of an epoch, at most ``most``, that leaves ``fewest`` dispatches in it.

    Example:
        >>> auto_steps(640), auto_steps(63), auto_steps(61), auto_steps(None)
        (32, 3, 1, 1)
    """
    if steps_per_epoch is None:
        return 1
    fits = [n for n in range(1, most + 1) if steps_per_epoch % n == 0 and steps_per_epoch // n >= fewest]
    return max(fits, default=1)


def is_tiny(prepared: PreparedFit) -> bool:
    """Return whether a step is next to nothing.

    The multiplications of a step are taken to be weights × numbers in a row's inputs × rows: no weight of a dense,
    convolutional or recurrent layer meets more than that, unless something before it makes the row larger.
    """
    import keras

    model, data = prepared.request.model, prepared.data
    if not isinstance(data, ArraySource) or not getattr(model, "built", False):
        return False
    row = sum(leaf.size for leaf in keras.tree.flatten(data.example[0]))
    return model.count_params() * row * prepared.batch_size <= TINY_STEP


def watches_batches(callbacks: tuple[Any, ...]) -> bool:
    """Return whether a callback has a hook for single batches, which would then be called less often."""
    return bool(wants_every_batch(callbacks))
