"""The time of a training step and its two parts: waiting for data, and computing."""

from __future__ import annotations

from .run import Run


def step_milliseconds(run: Run) -> tuple[float, float] | None:
    """Return a run's mean (waiting, computing) time of a step in milliseconds; None before a step was timed."""
    seconds, share = run.step_seconds, run.data_wait_share
    if not seconds or share is None:
        return None
    return 1000 * seconds * share, 1000 * seconds * (1 - share)


def step_texts(waiting: float, computing: float) -> tuple[str, str, str]:
    """Write a step's time and its two parts, in milliseconds, so that the parts add up to the whole as written.

    Args:
        waiting: Milliseconds that the device waited for data.
        computing: Milliseconds that it computed.

    Example:
        >>> step_texts(7.64, 4.66), step_texts(0.0, 0.123), step_texts(900.4, 334.5)
        (('12.3', '7.6', '4.7'), ('0.12', '0.00', '0.12'), ('1,235', '900', '335'))
    """
    whole = waiting + computing
    decimals = 2 if whole < 0.995 else 1 if whole < 99.5 else 0
    total, waited = round(whole, decimals), round(waiting, decimals)
    return f"{total:,.{decimals}f}", f"{waited:,.{decimals}f}", f"{total - waited:,.{decimals}f}"
