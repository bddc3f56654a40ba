"""A captured call and its TPU-ready form: the two values that the rules pass along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .change import Change
from .codes import Coded
from .finding import Finding
from .sources import ArraySource, Source

KERAS_DEFAULT_BATCH_SIZE = 32


@dataclass(frozen=True)
class FitRequest:
    """The user's `model.fit(...)`, read.

    Attributes:
        model: The compiled Keras model.
        data: The training data.
        validation: The validation data, or None.
        batch_size: The user's global batch size, rows.
        validation_batch_size: The user's batch size for validation, rows.
        epochs: Last epoch, as Keras counts.
        initial_epoch: First epoch, from 0.
        steps_per_epoch: As the user gave it, or None.
        validation_steps: As the user gave it, or None.
        shuffle: Whether rows come in a new order each epoch.
        callbacks: The user's callbacks.
        verbose: As the user gave it, or None when left out.
        passed_on: Arguments that Keras gets as they are.
    """

    model: Any
    data: Source
    validation: Source | None
    batch_size: int
    validation_batch_size: int
    epochs: int
    initial_epoch: int = 0
    steps_per_epoch: int | None = None
    validation_steps: int | None = None
    shuffle: bool = True
    callbacks: tuple[Any, ...] = ()
    verbose: Any = None
    passed_on: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows_per_epoch(self) -> int | None:
        """Rows that one epoch of the user's call trains on, or None when nobody knows."""
        if self.steps_per_epoch:
            return self.steps_per_epoch * self.batch_size
        if isinstance(self.data, ArraySource) or self.data.rows is not None:
            return self.data.rows
        return None if self.data.batches is None else self.data.batches * self.data.batch_size


@dataclass(frozen=True)
class PreparedFit:
    """The same call in TPU-ready form.

    Attributes:
        request: What the user asked for.
        replicas: Devices that run the step.
        data: Training data, with dtypes for the device.
        validation: Validation data, with dtypes for the device.
        batch_size: Global batch size, rows.
        epochs: Last epoch.
        steps_per_epoch: Steps in an epoch, or None for one pass of unknown length.
        full_batches: Whether every training batch has `batch_size` rows.
        learning_rate: What the optimizer gets during the fit, or None to leave it.
        rate_factor: What the user's rate was multiplied by to get `learning_rate`; 1 when it was asked for.
        precision: ``"float32"`` or ``"bfloat16"`` to set on the layers, or None to leave them.
        jit_compile: What the model gets during the fit, or None to leave it.
        steps_per_execution: Steps in one dispatch, or None to leave it.
        gradient_divisor: What every gradient is divided by during the fit, or None.
        scaled_losses: Whether losses that come as one number are divided by the replicas.
        scaled_compute_loss: Whether what the model's own ``compute_loss`` returns is, too.
        on_replicas: Whether the model trains on the runtime's replicas.
        shapes: Shapes that training batches come in, as far as they are known ahead.
        prefetch: Batches made ahead.
        coded: Training data whose inputs travel as codes in place of `data`, or None.
        text: What makes numbers of the text that the model begins with, a `TextPipeline`, or None.
        seed: Seed of the shuffle.
        changes: What the rules changed, in order.
        findings: What the traps found, the gravest first.
    """

    request: FitRequest
    replicas: int
    data: Source
    validation: Source | None
    batch_size: int
    epochs: int
    steps_per_epoch: int | None = None
    full_batches: bool = False
    learning_rate: float | None = None
    rate_factor: float = 1.0
    precision: str | None = None
    jit_compile: bool | None = None
    steps_per_execution: int | None = None
    gradient_divisor: int | None = None
    scaled_losses: bool = False
    scaled_compute_loss: bool = False
    on_replicas: bool = True
    shapes: int = 1
    prefetch: int = 0
    coded: Coded | None = None
    text: Any = None
    seed: int = 0
    changes: tuple[Change, ...] = ()
    findings: tuple[Finding, ...] = ()

    def but(self, change: Change | None = None, **values: Any) -> PreparedFit:
        """Return a copy with other values, and one more change."""
        changes = self.changes if change is None else (*self.changes, change)
        return replace(self, changes=changes, **values)


def steps_for(rows: int | None, batch_size: int) -> int | None:
    """Return the steps that see every row at least once, ``ceil(rows / batch_size)``."""
    return None if rows is None else -(-rows // batch_size)
