"""Keras on TensorFlow: one device, or a tf.distribute strategy over several.

Private to Keras and touched only here: ``Variable._value`` and its aggregation maps, the
optimizer's ``_distribution_strategy`` and ``_trainable_variables_indices``, the model's
``_distribute_strategy`` and ``_maybe_symbolic_build``. Tried on keras 3.10.0, 3.13.2 and
3.15.1 with tensorflow 2.20.0 and 2.21.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .learning_rate import adjustable, inner_optimizer, rate_variable, scheduled_rate
from .metrics import Reading, readings
from .output_losses import rows_counted
from .variables import forget_functions, live_variables, optimizers_of, scalar


class TensorFlowEngine:
    """Place models on the replicas of a tf.distribute strategy.

    Args:
        strategy: MirroredStrategy or TPUStrategy, or None for one device.
        device_kind: Name of the accelerator, for people; empty on CPU.
    """

    name = "tensorflow"
    settles = True
    step_takes_batches = True

    def __init__(self, strategy: Any = None, device_kind: str = "") -> None:
        self.strategy = strategy
        self.replicas = strategy.num_replicas_in_sync if strategy is not None else 1
        self.device_kind = device_kind
        self.jit_compile: bool | None = None if strategy is None else False

    def scope(self) -> AbstractContextManager[Any]:
        """Return a context in which new Keras variables are placed on all replicas."""
        return nullcontext() if self.strategy is None else self.strategy.scope()

    def place(self, model: Any) -> int:
        """Make the tf.Variable behind every Keras variable again on the replicas, in place.

        Returns:
            How many variables were not there yet.
        """
        if self.strategy is None:
            return 0
        away = [v for v in live_variables(model) if not isinstance(v._value, tf.distribute.DistributedValues)]
        # A model that has no variables yet still has to know its strategy before Keras builds it.
        with self.strategy.scope():
            for variable in away:
                _remake(variable)
        if away or model._distribute_strategy is not self.strategy:
            self._tell(model, self.strategy)
        return len(away)

    def bring_home(self, model: Any) -> None:
        """Make every variable again on the default device, so that plain Keras takes any batch."""
        if self.strategy is None:
            return
        for variable in live_variables(model):
            if isinstance(variable._value, tf.distribute.DistributedValues):
                _remake(variable)
        self._tell(model, None)

    def _tell(self, model: Any, strategy: Any) -> None:
        for layer in model._flatten_layers():
            if isinstance(layer, keras.Model):
                layer._distribute_strategy = strategy
        for optimizer in optimizers_of(model):
            optimizer._distribution_strategy = strategy or tf.distribute.get_strategy()
            if optimizer.built and getattr(optimizer, "_trainable_variables", None) is not None:
                optimizer._trainable_variables_indices = {
                    optimizer._var_key(variable): index for index, variable in enumerate(optimizer._trainable_variables)
                }
        forget_functions(model)

    @contextmanager
    def calling(self, model: Any, on_replicas: bool = True) -> Iterator[None]:
        """Run Keras' own fit, evaluate or predict. TensorFlow keeps the weights in the variables."""
        try:
            with rows_counted(model):
                yield
        finally:
            if on_replicas:
                self.settle(model)

    def settle(self, model: Any) -> None:
        """Average what each replica has counted for itself, such as BatchNormalization's moving mean.

        Each replica updates its own copy from its share of the batch, and the copies drift
        apart (0.018 in a small model, November 2026); predictions would depend on the replica.
        """
        if self.strategy is None:
            return
        for variable in model.non_trainable_variables:
            if variable.aggregation == "sum" or not isinstance(variable._value, tf.distribute.DistributedValues):
                continue
            copies = [copy.numpy() for copy in self.strategy.experimental_local_results(variable._value)]
            if copies[0].dtype.kind == "f" and any(not np.array_equal(copy, copies[0]) for copy in copies[1:]):
                variable._value.assign(np.mean(copies, axis=0))

    @contextmanager
    def building_from(self, model: Any, batch: Any) -> Iterator[None]:
        """Build the model from a batch, so that Keras need not take the first one to learn shapes.

        Keras sums that batch over the replicas, and cannot when they hold different numbers
        of rows; and a generator would lose it.

        Args:
            model: The placed model.
            batch: ``(x, y)`` or ``(x, y, sample_weight)`` arrays.
        """
        if self.strategy is None or "_maybe_symbolic_build" in vars(model):  # a validation inside a fit
            yield
            return
        with self.strategy.scope():
            model._symbolic_build(data_batch=batch)
        model._maybe_symbolic_build = lambda **_: None
        try:
            yield
        finally:
            del model._maybe_symbolic_build

    def decoder(self, tables: tuple[Any, ...], on_replicas: bool = True) -> Callable[[Any], Any]:
        """Refuse: no batch holds codes here."""
        raise NotImplementedError("Codes are made on JAX only.")

    def lost_variables(self, model: Any) -> list[str]:
        """Return nothing: TensorFlow keeps the weights in the variables."""
        return []

    def read_metrics(self, model: Any) -> dict[str, Reading]:
        """Read the running metrics in the middle of an epoch."""
        return readings(model)

    def is_busy(self, model: Any) -> bool:
        """Return False: the host waits for a step to end."""
        return False

    def read_learning_rate(self, model: Any) -> float | None:
        """Read the learning rate in the middle of an epoch, None where the optimizer has none to read."""
        variable = rate_variable(model)
        if variable is None:
            return None
        return scalar(variable) if adjustable(model) else scheduled_rate(model, variable.value)

    def set_learning_rate(self, model: Any, rate: float) -> None:
        """Make the next step use a learning rate, in the middle of an epoch."""
        inner_optimizer(model).learning_rate = rate

    def compilations(self, model: Any) -> tuple[int, float]:
        """Return how often the training step was traced up to now; TensorFlow tells no seconds."""
        count = getattr(getattr(model, "train_function", None), "experimental_get_tracing_count", None)
        return (count() if count is not None else 0), 0.0


def _remake(variable: Any) -> None:
    old = variable._value
    value = tf.convert_to_tensor(old).numpy()
    variable._value = tf.Variable(
        value,
        dtype=variable._dtype,
        # Not the Keras variable's: a gradient tape never watches one that was made frozen, also when it is thawed.
        trainable=old.trainable,
        name=variable.name,
        aggregation=variable._map_aggregation(variable.aggregation),
        synchronization=variable._map_synchronization(variable.synchronization),
    )
    if variable.aggregation == "sum":
        # Each replica starts with the value, and their sum would be a multiple of it; assigning splits it.
        variable._value.assign(tf.convert_to_tensor(value))
