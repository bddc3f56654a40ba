"""Lower the training step of Keras on TensorFlow through TensorFlow's compiler, from shapes alone.

The function is ``model.train_step``, as the trainer's own is compiled inside TPUStrategy, but for one device; the batch is
divided over the devices afterwards, as on JAX. The compiler is asked with no platform: asked for a TPU it wants one.
Batch normalisation and the like so see the global batch, where TPUStrategy has each replica see its share.

Private to Keras: ``Variable._value``, and the strategies that a model and an optimizer hold, as in `backends.tensorflow`.
Private to TensorFlow: ``experimental_get_compiler_ir``, whose HLO in serialized form is the same in every version; its
StableHLO as text is not (constants of booleans). Tried on TensorFlow 2.20 and 2.21.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from ...backends.variables import live_variables, optimizers_of
from ..module import BATCH, STATE, Argument
from . import state
from .parts import Step
from .portable import text_of
from .scopes import layer_scopes
from .unsupported import refused

ALIASED = re.compile(r"parameter_number = (\d+)[^}]*\}, output_index = array<i64: (\d+)>")
PARTS = ("x", "y", "sample_weight")


@contextmanager
def thrown_away(model: Any) -> Iterator[None]:
    """Give back the memory of the variables that are made while entered; TensorFlow keeps that of all it has traced."""
    _leave_replicas(model)
    held = [variable._value for variable in live_variables(model)]
    known = {id(value) for value in held}
    try:
        yield
    finally:
        for variable in live_variables(model):
            if id(variable._value) not in known:
                nothing = tf.zeros((0,), variable._value.dtype)
                tf.raw_ops.AssignVariableOp(resource=variable._value.handle, value=nothing, validate_shape=False)


def build(model: Any, specs: tuple[Any, Any, Any]) -> None:
    """Build what is not built; its variables have values for the length of the lowering."""
    state.build(model, specs)


def _leave_replicas(model: Any) -> None:
    """Let a model that was made in a strategy's scope be of one device, for the length of the lowering."""
    for variable in live_variables(model):
        if isinstance(variable._value, tf.distribute.DistributedValues):
            variable._value = variable._value.values[0]
    for layer in model._flatten_layers():
        if isinstance(layer, keras.Model):
            layer._distribute_strategy = None
    for optimizer in optimizers_of(model):
        optimizer._distribution_strategy = tf.distribute.get_strategy()


def trace(model: Any, specs: tuple[Any, Any, Any]) -> Step:
    """Return the training step on one batch as StableHLO, with what its arguments are."""
    data = keras.utils.pack_x_y_sample_weight(*specs)
    leaves = [leaf for leaf in keras.tree.flatten(data) if leaf is not None]

    def train_step(*given: Any) -> Any:
        waiting = list(given)
        batch = keras.tree.map_structure(lambda leaf: None if leaf is None else waiting.pop(0), data)
        return model.train_step(batch)

    compiled = tf.function(train_step, jit_compile=True, autograph=False)
    tensors = [tf.TensorSpec(leaf.shape, leaf.dtype) for leaf in leaves]
    with layer_scopes(model):
        concrete = compiled.get_concrete_function(*tensors)
    with refused(concrete.graph, state.layer_paths(model)):
        module = compiled.experimental_get_compiler_ir(*tensors)(stage="hlo_serialized")
    text = text_of(module)
    arguments = [*_batch(data, leaves), *_held(model, concrete)]
    return Step(text, tuple(arguments), _aliases(text))


def _batch(data: Any, leaves: list[Any]) -> list[Argument]:
    names = [_place(path, data) for path, leaf in keras.tree.flatten_with_path(data) if leaf is not None]
    rows = leaves[0].shape[0]
    return [
        Argument(name, BATCH, tuple(leaf.shape), leaf.dtype, sharded=tuple(leaf.shape[:1]) == (rows,))
        for name, leaf in zip(names, leaves, strict=True)
    ]


def _place(path: tuple[Any, ...], data: Any) -> str:
    head, rest = (PARTS[path[0]], path[1:]) if isinstance(data, tuple) else ("x", path)
    return head + "".join(f"[{part!r}]" for part in rest)


def _held(model: Any, concrete: Any) -> list[Argument]:
    """Return what the step holds besides the batch, in the order in which TensorFlow hands it to the compiler."""
    roles = state.roles(model)
    known: dict[int, tuple[str, str, Any]] = {}
    for variable in live_variables(model):
        value = variable._value
        known[id(value.handle)] = (variable.path, roles.get(id(variable), STATE), value)
    others = {id(variable.handle): variable for variable in concrete.graph.variables}
    held = []
    for place, tensor in enumerate(concrete.captured_inputs):
        if tensor.dtype != tf.resource:
            held.append(Argument(f"constant {place}", STATE, tuple(tensor.shape), tensor.dtype.name))
            continue
        if id(tensor) in known:
            name, role, value = known[id(tensor)]
        else:
            value = others[id(tensor)]
            name, role = value.name, STATE
        held.append(Argument(name, role, tuple(value.shape), value.dtype.name))
    return held


def _aliases(text: str) -> dict[int, int]:
    """Return for each variable that the step assigns the place of the output with its new value."""
    head = next(line for line in text.splitlines() if line.startswith("module "))
    return {int(place): int(output) for place, output in ALIASED.findall(head)}
