"""Say in plain sentences what a run shows: not a number, run away, starved of data, recompiling."""

from __future__ import annotations

import math

from .run import Run
from .step_time import step_milliseconds, step_texts

WAITING_SHARE = 0.2
ENOUGH_STEPS, ENOUGH_SECONDS = 20, 1.0
# The loss this many times above its best so far, and above where it began: no noise does that for long.
RAN_AWAY = 3.0
MANY_COMPILATIONS, SOME_COMPILATIONS = 3, 2


def findings(run: Run) -> list[str]:
    """Return what to tell the user of a run, the gravest first; empty when there is nothing.

    Args:
        run: A run that has ended, or as it stands.

    Example:
        >>> findings(Run("TPU (v5e-1)", train_seconds=3.1, timed_steps=100, data_wait_seconds=0.1))
        []
    """
    seen = [sentence for look in (_not_a_number, _ran_away, _waiting, _recompiling) if (sentence := look(run))]
    return [*seen, *(trap.sentence for trap in run.traps if trap.severity != "note")]


def device_noun(run: Run) -> str:
    """Return what trained, as the subject of a sentence: ``"The TPU"``."""
    if "simulated" in run.device:
        return "The simulated replicas"
    return next((f"The {kind}" for kind in ("TPU", "GPU") if kind in run.device.split(",")[0]), "The device")


def _not_a_number(run: Run) -> str:
    if run.nan_step is None:
        return ""
    rate = f" (it was {run.learning_rate.values[-1]:.3g})" if run.learning_rate.values else ""
    return (
        f"The loss is not a number since step {run.nan_step:,} (epoch {run.epoch_of(run.nan_step)}). "
        f"Lower the learning rate{rate}, give the optimizer clipnorm=1.0, and look for NaN or infinite values "
        "in the data: np.isfinite(x).all()."
    )


def _ran_away(run: Run) -> str:
    series = run.train.get("loss")
    if run.nan_step is not None or series is None or len(series.values) < 4:
        return ""
    finite = [value for value in series.values if math.isfinite(value)]
    first, lowest, last = finite[0], min(finite), min(finite[-2:])
    if lowest <= 0 or last < RAN_AWAY * max(first, lowest):
        return ""
    rate = f" (it is {run.learning_rate.values[-1]:.4g})" if run.learning_rate.values else ""
    return (
        f"The loss has run away: it began at {first:.4g}, was {lowest:.4g} at best, and is {last:.4g}. "
        f"Lower the learning rate{rate}, and begin from fresh weights: these are spoilt."
    )


def _waiting(run: Run) -> str:
    share, parts = run.data_wait_share, step_milliseconds(run)
    if share is None or parts is None or share < WAITING_SHARE:
        return ""
    if run.timed_steps < ENOUGH_STEPS and run.train_seconds < ENOUGH_SECONDS:
        return ""
    whole, waiting, computing = step_texts(*parts)
    return (
        f"{device_noun(run)} waited {100 * share:.0f} % of the time for data: a step takes {whole} ms, "
        f"of which {waiting} ms waiting and {computing} ms computing. Give the data faster: "
        "dataset.map(…, num_parallel_calls=tf.data.AUTOTUNE).cache().batch(…).prefetch(tf.data.AUTOTUNE), "
        "larger batches, or less Python for each batch."
    )


def _recompiling(run: Run) -> str:
    shapes, times = run.batch_shapes, run.compilations
    if run.moved and shapes < 2 and times <= MANY_COMPILATIONS:
        return ""  # once for the values as they came, and again for those that the first steps left
    if times < MANY_COMPILATIONS and (times < SOME_COMPILATIONS or shapes < 2):
        return ""
    if 1 < shapes <= run.planned_shapes and times <= run.planned_shapes + 1:
        return ""
    took = f" ({run.compiling_seconds:.3g} s in all)" if run.compiling_seconds else ""
    if shapes >= 2:
        return (
            f"The step was compiled {times} times{took} because batches come in {shapes} shapes: leave the rule "
            "static-shapes on, or pad every batch to one shape."
        )
    return (
        f"The step was compiled {times} times{took} although all batches have one shape: something else that it "
        "reads changes from step to step, such as a Python number. Make that a tensor or a constant."
    )
