"""What a run measured beside its metrics, a row each: step time, compilations, learning rate, best epoch."""

from __future__ import annotations

from ..training.run import Run
from ..training.step_time import step_milliseconds, step_texts
from .best import best_of
from .units import duration_text, number_text


def facts(run: Run) -> list[tuple[str, str]]:
    """Return (label, text) for everything that is known of a run; what was not measured has no row.

    Args:
        run: A run that has ended, or as it stands.
    """
    parts, best = step_milliseconds(run), best_of(run)
    rates = run.learning_rate.values
    took = f" in {duration_text(run.compiling_seconds)}" if run.compiling_seconds else ""
    rows = [
        ("Time per step", step_time_text(*parts) if parts is not None else ""),
        ("Compilations", f"{run.compilations}{took}" if run.compilations else ""),
        ("Paused", duration_text(run.paused_seconds) if run.paused_seconds >= 0.1 else ""),
        ("Learning rate at the end", f"{rates[-1]:.4g}" if rates else ""),
        ("Best epoch", f"{best.epoch}, validation loss {number_text(best.loss)}" if best is not None else ""),
    ]
    return [(label, text) for label, text in rows if text]


def step_time_text(waiting: float, computing: float) -> str:
    """Write the time of a step and its parts, given in milliseconds.

    Example:
        >>> step_time_text(7.6, 4.7)
        '12.3 ms = 7.6 waiting for data + 4.7 computing'
    """
    whole, waited, computed = step_texts(waiting, computing)
    return f"{whole} ms = {waited} waiting for data + {computed} computing"
