"""Keras on JAX: one device, or data parallel over several, real or simulated.

Private to Keras and touched only here: ``Variable._layout`` and ``_value``, the trainer
module's ``_distribute_data``, ``_jax_state``, ``jax_state_sync`` and ``_symbolic_build``. Tried on keras 3.10.0,
3.13.2 and 3.15.1 with jax 0.7.2 and 0.10.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import jax
import keras
from keras.src.backend.jax import trainer as keras_jax_trainer

from ..errors import ModelError
from .jax_compilations import step_compilations, watch_compilations
from .jax_decode import decoder
from .learning_rate import adjustable, rate_variable, scheduled_rate
from .metrics import Reading, readings
from .variables import forget_functions, live_variables


class JaxEngine:
    """Place models and batches on JAX devices.

    Args:
        devices: The JAX devices that run the step, one replica each.
    """

    name = "jax"
    settles = False
    jit_compile: bool | None = None
    step_takes_batches = False

    def __init__(self, devices: list[Any]) -> None:
        self.devices = devices
        self.replicas = len(devices)
        self.device_kind = devices[0].device_kind
        self.distribution: Any = None
        self._held: list[tuple[Any, Any]] = []
        if self.replicas > 1:
            self.distribution = keras.distribution.DataParallel(
                devices=[f"{device.platform}:{device.id}" for device in devices]
            )
            mesh = self.distribution.device_mesh.backend_mesh
            axis = self.distribution.batch_dim_name
            self._sharded = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(axis))
            self._replicated = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        watch_compilations()

    def scope(self) -> AbstractContextManager[Any]:
        """Return a context in which new Keras variables are placed on all replicas."""
        return nullcontext() if self.distribution is None else self.distribution.scope()

    def place(self, model: Any) -> int:
        """Move every variable of a model onto the replicas, in place.

        Returns:
            How many variables were not there yet.
        """
        if self.distribution is None:
            return 0
        moved = 0
        for variable in live_variables(model):
            layout = self.distribution.get_variable_layout(variable)
            layout = getattr(layout, "backend_layout", layout)
            variable._layout = layout
            if variable._value.sharding != layout:
                variable._value = jax.device_put(variable._value, layout)
                moved += 1
        if moved:
            forget_functions(model)
        return moved

    def bring_home(self, model: Any) -> None:
        """Move every variable back to the first device, so that plain Keras takes any batch."""
        if self.distribution is None:
            return
        for variable in live_variables(model):
            variable._layout = None
            if not variable._value.is_deleted():
                variable._value = jax.device_put(variable._value, self.devices[0])
        forget_functions(model)

    @contextmanager
    def calling(self, model: Any, on_replicas: bool = True) -> Iterator[None]:
        """Run Keras' own fit, evaluate or predict: batches go to the replicas, and no weight is lost.

        Keras on JAX takes the values out of the model's variables while it trains and gives
        them to the step, which consumes them. Whatever ends the call, each variable has a
        value again afterwards.
        """
        self._held = [(variable, variable._value) for variable in live_variables(model)]
        with self._distributed() if on_replicas else nullcontext():
            try:
                yield
            except BaseException:
                _give_back(model, self._held)
                raise
            finally:
                self._held = []

    def settle(self, model: Any) -> None:
        """Do nothing: JAX computes every statistic over the global batch."""

    def building_from(self, model: Any, batch: Any) -> AbstractContextManager[Any]:
        """Build the model from a batch, so that Keras need not open the data for that and close it again."""
        model._symbolic_build(data_batch=batch)
        # What was only made now, such as a metric's counts, is given back after an error too.
        known = {id(variable) for variable, _ in self._held}
        self._held += [(made, made._value) for made in live_variables(model) if id(made) not in known]
        return nullcontext()

    @contextmanager
    def _distributed(self) -> Iterator[None]:
        if self.distribution is None:
            yield
            return
        before = keras.distribution.distribution()
        if before is not None and before is not self.distribution:
            raise ModelError(
                f"keras.distribution is set to {type(before).__name__} already.",
                expected="the runtime alone to distribute the model.",
                type_next="keras.distribution.set_distribution(None)",
            )
        original = keras_jax_trainer._distribute_data
        keras_jax_trainer._distribute_data = self._distribute_data
        keras.distribution.set_distribution(self.distribution)
        try:
            yield
        finally:
            keras.distribution.set_distribution(before)
            keras_jax_trainer._distribute_data = original

    def _distribute_data(self, data: Any, layouts: Any = None) -> Any:
        """Split a batch over the replicas; give each replica a whole copy of a remainder.

        A remainder has fewer rows than divide evenly. Every replica computes all of it, so
        nothing is padded and every metric sees exactly the rows there are.
        """

        def put(leaf: Any) -> Any:
            if leaf is None:
                return None
            return jax.device_put(leaf, self._sharding_of(leaf))

        return keras.tree.map_structure(put, data)

    def _sharding_of(self, leaf: Any) -> Any:
        even = leaf.ndim > 0 and leaf.shape[0] % self.replicas == 0
        return self._sharded if even else self._replicated

    def decoder(self, tables: tuple[Any, ...], on_replicas: bool = True) -> Callable[[Any], Any]:
        """Return what makes floats on the devices of the codes in a batch, which lies there as any batch does."""
        spread = on_replicas and self.distribution is not None
        return decoder(tables, self.devices[0].platform, self._sharding_of if spread else lambda leaf: None)

    def lost_variables(self, model: Any) -> list[str]:
        """Return the paths of variables whose value a step has consumed and not given back."""
        return [variable.path for variable in live_variables(model) if variable._value.is_deleted()]

    def read_metrics(self, model: Any) -> dict[str, Reading]:
        """Read the running metrics in the middle of an epoch with one transfer from the device."""
        variables = model.metrics_variables
        before = [variable._value for variable in variables]
        values = self._in_training(model, "metrics_variables") or before
        # On the host: an operation on replicas from here could meet a step that is still running.
        for variable, value in zip(variables, jax.device_get(values), strict=True):
            variable._value = value
        try:
            return readings(model)
        finally:
            for variable, value in zip(variables, before, strict=True):
                variable._value = value

    def is_busy(self, model: Any) -> bool:
        """Return whether the step before is still running, without waiting for it."""
        values = self._in_training(model, "metrics_variables")
        # Within one dispatch of several steps the values at hand belong to an earlier one and are gone.
        return bool(values) and not values[0].is_deleted() and not values[0].is_ready()

    def read_learning_rate(self, model: Any) -> float | None:
        """Read the learning rate in the middle of an epoch, None where the optimizer has none to read."""
        variable = rate_variable(model)
        if variable is None:
            return None
        values = self._in_training(model, "optimizer_variables")
        if values is None:
            number = jax.device_get(variable._value)
        else:
            places = [at for at, one in enumerate(model.optimizer.variables) if one is variable]
            if not places:
                return None
            number = jax.device_get(values[places[0]])
        if adjustable(model):
            return float(number)
        with jax.default_device(jax.local_devices(backend="cpu")[0]):
            return scheduled_rate(model, number)

    def set_learning_rate(self, model: Any, rate: float) -> None:
        """Make the next step use a learning rate, in the middle of an epoch.

        The trainer holds the optimizer's values outside its variables; it takes them from
        there again once they are put back.
        """
        model.jax_state_sync()
        variable = rate_variable(model)
        variable.assign(rate)

    def compilations(self, model: Any) -> tuple[int, float]:
        """Return how often a training step was compiled up to now, and the seconds that took."""
        return step_compilations()

    def _in_training(self, model: Any, group: str) -> Any:
        """Return the values that the trainer holds outside the model's variables, None when they are in them."""
        state = getattr(model, "_jax_state", None)
        return state.get(group) if state and not model._jax_state_synced else None


def _give_back(model: Any, held: list[tuple[Any, Any]]) -> None:
    model.jax_state_sync()
    for variable, value in held:
        if variable._value is None or variable._value.is_deleted():
            if not value.is_deleted():
                variable._value = value
