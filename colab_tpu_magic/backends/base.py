"""The small interface that both backends offer, and the runtime that uses one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ..hardware.environment import Environment
    from ..hardware.slices import Slice

TPU, GPU, CPU, SIMULATED = "tpu", "gpu", "cpu", "simulated"
BACKEND_TITLES = {"jax": "JAX", "tensorflow": "TensorFlow"}


class Engine(Protocol):
    """What a backend does for the runtime; one class per backend, same method names.

    ``step_takes_batches`` says that a step takes its batches out of the feed by itself, in
    threads of the backend, and that the host waits until it has ended.
    """

    name: str
    replicas: int
    settles: bool
    jit_compile: bool | None
    device_kind: str
    step_takes_batches: bool

    def scope(self) -> AbstractContextManager[Any]:
        """Return a context in which new Keras variables are placed on all replicas."""

    def place(self, model: Any) -> int:
        """Move a model's variables, optimizer and metrics onto the replicas, in place."""

    def bring_home(self, model: Any) -> None:
        """Move the same back to one device, in place."""

    def calling(self, model: Any, on_replicas: bool = True) -> AbstractContextManager[Any]:
        """Return the context in which Keras' own fit, evaluate or predict of a model runs."""

    def settle(self, model: Any) -> None:
        """Make one value of what each replica has counted for itself; `settles` says whether there is such."""

    def building_from(self, model: Any, batch: Any) -> AbstractContextManager[Any]:
        """Return the context in which Keras need not take a first batch to build the model."""

    def decoder(self, tables: tuple[Any, ...], on_replicas: bool = True) -> Callable[[Any], Any]:
        """Return what makes floats of the codes in a batch, given the values of each flattened leaf or None; JAX only."""

    def lost_variables(self, model: Any) -> list[str]:
        """Return the paths of variables that have no value any more after a call that failed."""

    def read_metrics(self, model: Any) -> dict[str, Any]:
        """Read the running metrics in the middle of an epoch, one device read."""

    def is_busy(self, model: Any) -> bool:
        """Return whether the step before is still running, without waiting for it."""

    def read_learning_rate(self, model: Any) -> float | None:
        """Read the learning rate in the middle of an epoch, None where the optimizer has none to read."""

    def set_learning_rate(self, model: Any, rate: float) -> None:
        """Make the next step use a learning rate, in the middle of an epoch."""

    def compilations(self, model: Any) -> tuple[int, float]:
        """Return how often a training step was compiled up to now, and the seconds that took (0 when not told)."""


@dataclass(frozen=True)
class Runtime:
    """The connected accelerator.

    Attributes:
        backend: ``"jax"`` or ``"tensorflow"``.
        kind: ``"tpu"``, ``"gpu"``, ``"cpu"`` or ``"simulated"``.
        replicas: Devices that run the step.
        slice: The TPU slice, real or simulated; None on CPU, GPU and ``--simulate N``.
        environment: What was found on this machine.
        warnings: Sentences to show on the card.
    """

    backend: str
    kind: str
    replicas: int
    slice: Slice | None
    environment: Environment
    engine: Engine = field(repr=False)
    warnings: tuple[str, ...] = ()

    def scope(self) -> AbstractContextManager[Any]:
        """Return the context in which new models are made on all replicas."""
        return self.engine.scope()

    @property
    def device(self) -> str:
        """What trains, for people, without the backend: ``"8 simulated replicas (v2-8) on CPU"``."""
        many = "" if self.replicas == 1 else "s"
        name = f" ({self.slice.name})" if self.slice is not None else ""
        if self.kind == SIMULATED:
            return f"{self.replicas} simulated replica{many}{name} on CPU"
        if self.kind == TPU:
            return (
                f"TPU{name}, {self.replicas} replica{many}"
                if name
                else f"{self.engine.device_kind}, {self.replicas} replica{many}"
            )
        if self.kind == GPU:
            return f"{self.replicas} GPU{many}" + (f" ({self.engine.device_kind})" if self.engine.device_kind else "")
        return "this machine's CPU"

    @property
    def backend_title(self) -> str:
        """The backend's name, for people."""
        return BACKEND_TITLES[self.backend]

    @property
    def headline(self) -> str:
        """The first line of the card: what will train."""
        tail = "" if self.kind == TPU or self.environment.tpu is not None else " No TPU here."
        return f"Training on: {self.device}, {self.backend_title} backend.{tail}"
