"""Count how often JAX compiles a Keras training step, through JAX's own event listeners.

The event and the name of the compiled function in it were tried on jax 0.7.2 and 0.10.2 with
keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

from typing import Any

import jax

EVENT = "/jax/core/compile/backend_compile_duration"
STEP = "train_step"
_watching = False
_count = 0
_seconds = 0.0


def watch_compilations() -> None:
    """Begin to count; a second call changes nothing, for JAX has no way to take a listener away."""
    global _watching
    if not _watching:
        _watching = True
        jax.monitoring.register_event_duration_secs_listener(_note)


def step_compilations() -> tuple[int, float]:
    """Return the compilations of training steps in this process, and the seconds they took."""
    return _count, _seconds


def _note(event: str, duration: float, **details: Any) -> None:
    global _count, _seconds
    if event == EVENT and STEP in str(details.get("fun_name", "")):
        _count += 1
        _seconds += duration
