"""A run: one training, what it measured, what was changed and how it ended."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from ..rewrite.change import Change
from ..rewrite.finding import Finding
from .series import Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..hardware.usage import Usage
    from .recipe import Recipe

STATUSES = ("running", "completed", "stopped", "interrupted", "failed")


@dataclass
class Run:
    """Hold what one `fit` did.

    Attributes:
        device: What trained, for people: ``"8 simulated replicas (v2-8) on CPU, JAX backend"``.
        replicas: Devices that ran the step.
        global_batch_size: Rows in one step over all replicas.
        epochs: Last epoch asked for, as Keras counts.
        first_epoch: First epoch of this run, from 1; more than 1 with ``initial_epoch``.
        steps_per_epoch: Training steps in an epoch, or None while unknown.
        status: ``"running"``, ``"completed"``, ``"stopped"``, ``"interrupted"`` or ``"failed"``.
        history: Keras' ``History.history``: metric name to one value per epoch.
        train: Per-step series of the training metrics, by metric name.
        validation: Per-epoch series of the validation metrics, by metric name without ``val_``.
        changes: What the rules changed.
        traps: What the traps found before the run began.
        epoch: Epoch being trained, from 1; 0 before the first.
        step: Training steps done since the run began.
        started: ``time.perf_counter()`` at the start, seconds.
        compile_seconds: Wall time of the first step, compilation included; None before it.
        duration_seconds: Wall time of the whole run; None while running.
        error: The one-line reason when failed.
        optimizer: Class name of the optimizer, empty while unknown.
        precision: What the layers were set to compute in, empty when left as they were.
        number: Number of the run in this process, from 1; 0 before it is kept.
        name: What people call the run, empty for ``run <number>``.
        running: Per-step series of the means that Keras reports: since the epoch began.
        learning_rate: The optimizer's learning rate at each sample.
        train_seconds: Wall time of the steps after the first, without validation and pauses.
        timed_steps: Steps that `train_seconds` covers.
        data_wait_seconds: Of `train_seconds`, how long the device had nothing to do but wait for data.
        latest_step_ms: Waiting and computing of the latest steps, milliseconds a step, or None.
        paused_seconds: Time spent paused.
        compilations: How often the training step was compiled.
        compiling_seconds: Time spent in these compilations, 0 where the backend does not tell.
        planned_shapes: Shapes that training batches were expected in before the first.
        moved: Whether the model was trained before by another number of replicas: the step is compiled for both places.
        batch_shapes: Different shapes of training batches met, 1 with static shapes.
        nan_step: Training step at which the loss was first seen to be NaN or infinite, or None.
        usage: What the accelerator last said of its memory and its work, or None.
        recipe: How it was made, for `export`; None for a run that `fit` did not make.
    """

    device: str
    replicas: int = 1
    global_batch_size: int = 0
    epochs: int = 1
    first_epoch: int = 1
    steps_per_epoch: int | None = None
    status: str = "running"
    history: dict[str, list[float]] = field(default_factory=dict)
    train: dict[str, Series] = field(default_factory=dict)
    validation: dict[str, Series] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    traps: tuple[Finding, ...] = ()
    epoch: int = 0
    step: int = 0
    epoch_step: int = 0
    phase: str = "compiling"
    started: float = field(default_factory=time.perf_counter)
    compile_seconds: float | None = None
    duration_seconds: float | None = None
    error: str = ""
    optimizer: str = ""
    precision: str = ""
    number: int = 0
    name: str = ""
    running: dict[str, Series] = field(default_factory=dict)
    learning_rate: Series = field(default_factory=lambda: Series("learning rate"))
    train_seconds: float = 0.0
    timed_steps: int = 0
    data_wait_seconds: float = 0.0
    latest_step_ms: tuple[float, float] | None = None
    paused_seconds: float = 0.0
    compilations: int = 0
    compiling_seconds: float = 0.0
    planned_shapes: int = 1
    moved: bool = False
    batch_shapes: int = 1
    nan_step: int | None = None
    usage: Usage | None = None
    recipe: Recipe | None = field(default=None, repr=False)

    @property
    def title(self) -> str:
        """What to call the run: its name, or its number."""
        return self.name or f"run {self.number}"

    @property
    def step_seconds(self) -> float | None:
        """Mean wall time of a training step, None before one was timed."""
        return self.train_seconds / self.timed_steps if self.timed_steps else None

    @property
    def data_wait_share(self) -> float | None:
        """Share of the training time, 0 to 1, in which the device waited for data; None before a step was timed."""
        return min(1.0, self.data_wait_seconds / self.train_seconds) if self.train_seconds > 0 else None

    @property
    def best_epoch(self) -> tuple[int, int] | None:
        """Return (epoch, its last step) with the lowest validation loss, None without two validations."""
        losses = self.validation.get("loss")
        if losses is None or len(losses.steps) < 2:
            return None
        finite = [
            (value, step) for step, value in zip(losses.steps, losses.values, strict=True) if math.isfinite(value)
        ]
        if not finite:
            return None
        step = min(finite)[1]
        return self.epoch_of(step), step

    @property
    def per_replica_batch_size(self) -> int:
        """Rows of one step on one replica."""
        return self.global_batch_size // max(1, self.replicas)

    @property
    def metric_names(self) -> list[str]:
        """Names of the metrics, loss first, without ``val_``."""
        names = list(dict.fromkeys([*self.train, *self.validation]))
        return sorted(names, key=lambda name: name != "loss")

    @property
    def metrics(self) -> dict[str, list[Any]]:
        """Columns ``step``, ``epoch`` and one per metric; None where a row has no value.

        Train values stand at the step they were sampled, validation values (``val_`` names)
        at the last step of their epoch.
        """
        columns = {name: series for name, series in self.train.items()}
        columns.update({f"val_{name}": series for name, series in self.validation.items()})
        by_step: dict[int, dict[str, float]] = {}
        for name, series in columns.items():
            for step, value in zip(series.steps, series.values, strict=True):
                by_step.setdefault(step, {})[name] = value
        steps = sorted(by_step)
        table: dict[str, list[Any]] = {"step": steps, "epoch": [self.epoch_of(step) for step in steps]}
        for name in columns:
            table[name] = [by_step[step].get(name) for step in steps]
        return table

    def epoch_of(self, step: int) -> int:
        """Return the epoch, from 1, that a training step belongs to."""
        if not self.steps_per_epoch:
            return max(1, self.epoch)
        return self.first_epoch - 1 + max(1, -(-step // self.steps_per_epoch))

    def examples_per_second(self) -> float | None:
        """Rows trained a second, by the mean time of a step: without the first step, validation and pauses.

        Returns:
            The overall speed where no step was timed by itself, and None before two steps.
        """
        seconds = self.step_seconds
        return self.global_batch_size / seconds if seconds else self.overall_examples_per_second()

    def overall_examples_per_second(self) -> float | None:
        """Rows trained a second of all that passed since the first step, validation included; None before two steps."""
        end = self.duration_seconds if self.duration_seconds is not None else time.perf_counter() - self.started
        seconds = end - (self.compile_seconds or 0.0) - self.paused_seconds
        if self.step < 2 or seconds <= 0:
            return None
        return (self.step - 1) * self.global_batch_size / seconds

    def summary(self) -> str:
        """Return the run as a few lines of text."""
        from ..widgets.text import run_summary

        return run_summary(self)

    def plot(self) -> Figure:
        """Return a matplotlib Figure of the metrics, train per step and validation per epoch."""
        from ..widgets.static import run_figure

        return run_figure(self)

    def to_dataframe(self) -> Any:
        """Return `metrics` as a pandas DataFrame, with the learning rate of each row.

        Raises:
            OptionError: pandas is not installed.

        Example:
            >>> Run("this machine's CPU").to_dataframe().columns.tolist()
            ['step', 'epoch', 'learning_rate']
        """
        try:
            import pandas
        except ImportError as error:
            raise OptionError("A DataFrame needs pandas, which is not installed.", "", "%pip install pandas") from error
        table = pandas.DataFrame(self.metrics)
        rates = self.learning_rate
        places = [bisect_right(rates.steps, step) for step in table["step"]]
        # A row before the first reading has the first: nobody changed it before the run.
        table["learning_rate"] = [rates.values[max(0, place - 1)] if rates.values else None for place in places]
        return table

    def __repr__(self) -> str:
        return f"<Run {self.status}: epoch {self.epoch}/{self.epochs}, step {self.step}, {self.device}>"
