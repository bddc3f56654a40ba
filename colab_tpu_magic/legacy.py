"""What code of TensorFlow's TPU years asks for by other names: a strategy, a resolver, the TPU's address.

`%tpu_migrate` writes these where old code made its own. All of them speak of the connected runtime
and connect it when nothing is connected yet.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import ModelError
from .session import current_runtime

if TYPE_CHECKING:
    from .backends.base import Runtime


def has_tpu() -> bool:
    """Return whether a TPU, real or simulated, is connected: ``'COLAB_TPU_ADDR' in os.environ`` of old."""
    from .backends.base import SIMULATED, TPU

    return current_runtime().kind in (TPU, SIMULATED)


def address() -> str:
    """Return the name of what trains: ``os.environ['COLAB_TPU_ADDR']`` of old.

    Raises:
        KeyError: As of old, when it is no TPU.

    Example:
        >>> address()  # doctest: +SKIP
        '8 simulated replicas (v2-8) on CPU'
    """
    if not has_tpu():
        raise KeyError("COLAB_TPU_ADDR")
    return current_runtime().device


def resolver() -> Resolver:
    """Return what ``TPUClusterResolver(...)`` of old gave, as far as it can be asked.

    Raises:
        ValueError: As of old, when there is no TPU.
    """
    if not has_tpu():
        raise ValueError("No TPU is connected.\nType: %tpu_connect")
    return Resolver(current_runtime())


def strategy() -> Any:
    """Return a strategy that counts the replicas of the runtime.

    On TensorFlow it is the runtime's own tf.distribute strategy; on JAX, which has none, an object
    with a harmless ``scope()``.
    """
    runtime = current_runtime()
    if runtime.backend == "jax":
        return JaxStrategy(runtime)
    import tensorflow as tf

    return getattr(runtime.engine, "strategy", None) or tf.distribute.get_strategy()


@dataclass(frozen=True)
class Device:
    """One replica, as ``session.list_devices()`` of old told of one core.

    Attributes:
        name: For example ``"replica 0 of 8 simulated replicas (v2-8) on CPU"``.
        device_type: ``"TPU"`` where it is one, real or simulated; else ``"CPU"`` or ``"GPU"``.
    """

    name: str
    device_type: str


def session() -> Session:
    """Return what ``tf.Session(address)`` of old gave, as far as it is asked for its devices.

    Example:
        >>> with session() as s:  # doctest: +SKIP
        ...     s.list_devices()[0].device_type
        'TPU'
    """
    return Session()


class Session:
    """Stand in for a ``tf.Session`` that was made to list the cores of the TPU; a context as that was."""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def list_devices(self) -> list[Device]:
        """Return one device for each replica of the runtime, which is connected first if need be."""
        runtime = current_runtime()
        kind = "TPU" if has_tpu() else runtime.kind.upper()
        return [Device(f"replica {index} of {runtime.device}", kind) for index in range(runtime.replicas)]

    def close(self) -> None:
        """Do nothing: nothing was opened."""


class JaxStrategy:
    """Stand in for a tf.distribute strategy where JAX trains.

    Args:
        runtime: The connected runtime.

    Attributes:
        num_replicas_in_sync: Replicas of the runtime.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.num_replicas_in_sync = runtime.replicas

    def scope(self) -> AbstractContextManager[Any]:
        """Return a context that does nothing: `%%tpu_fit` moves a model wherever it was made."""
        return nullcontext(self)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Return the dataset: `%%tpu_fit` deals its batches out."""
        return dataset

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise ModelError(
            f"strategy.{name} is a part of TensorFlow's own training loop, and JAX trains here.",
            expected="model.compile and model.fit, or the TensorFlow backend for the loop.",
            type_next="%tpu_connect --restart --backend tensorflow",
        )


class Resolver:
    """Answer what old code asks its TPUClusterResolver.

    Args:
        runtime: The connected runtime.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def master(self, *arguments: Any, **keywords: Any) -> str:
        """Return the name of what trains."""
        return self._runtime.device

    get_master = master

    def num_accelerators(self, *arguments: Any, **keywords: Any) -> dict[str, int]:
        """Return the number of replicas."""
        return {"TPU": self._runtime.replicas}

    def cluster_spec(self) -> Resolver:
        """Return an object with ``as_dict()``."""
        return self

    def as_dict(self) -> dict[str, list[str]]:
        """Return one worker: this machine."""
        return {"worker": [self._runtime.device]}
