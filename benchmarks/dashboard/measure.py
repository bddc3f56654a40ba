"""Measure one watched fit, in the kernel that runs it."""

from __future__ import annotations

import gc
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from ..cells import mark_phase
from .contenders import CONTENDERS
from .fixed_fit import FixedFit

START, LOOP, END = "start", "loop", "end"


@dataclass(frozen=True)
class Reading:
    """The clocks at one moment, seconds.

    Attributes:
        wall: Time of day, from any zero.
        cpu: CPU time of this process, all its threads.
        helpers: CPU time of the processes that it started.
    """

    wall: float
    cpu: float
    helpers: float


def read_clocks() -> Reading:
    """Return the clocks now."""
    helpers = 0.0
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:
            continue
        helpers += times.user + times.system
    return Reading(time.perf_counter(), time.process_time(), helpers)


def measure(name: str, epochs: int, steps: int, step_seconds: float) -> dict[str, float]:
    """Run one fit and return what it took.

    Setting up and clearing up are timed apart from the epochs: a picture made once at the end is no cost of a batch.

    Args:
        name: The contender, a key of `CONTENDERS`.
        epochs: Epochs to run.
        steps: Steps in an epoch.
        step_seconds: What a step takes by itself.

    Returns:
        Seconds by ``"<phase>_wall"``, ``"<phase>_cpu"`` and ``"<phase>_helpers"``.
    """
    contender = CONTENDERS[name]
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder, ExitStack() as watching:
        fit = FixedFit(epochs, steps, step_seconds, Path(folder))
        gc.collect()
        mark_phase(START)
        clocks = [read_clocks()]
        callbacks = watching.enter_context(contender.start(fit))
        callbacks.on_train_begin()
        clocks.append(read_clocks())
        mark_phase(LOOP)
        clocks.append(read_clocks())
        fit.run(callbacks)
        clocks.append(read_clocks())
        mark_phase(END)
        clocks.append(read_clocks())
        callbacks.on_train_end({})
        watching.close()
        clocks.append(read_clocks())
    spent: dict[str, float] = {}
    for phase, (before, after) in zip((START, LOOP, END), zip(clocks[::2], clocks[1::2])):
        for clock, end in asdict(after).items():
            spent[f"{phase}_{clock}"] = end - getattr(before, clock)
    spent[f"{LOOP}_cpu"] -= fit.awake_seconds
    return spent
