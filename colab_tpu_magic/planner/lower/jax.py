"""Lower the training step of Keras on JAX for a TPU, from shapes alone.

The function is the one that the trainer compiles: ``model.train_step`` with its state donated. Variables that are not
made yet are made without values, so that nothing is allocated.

Private to Keras: ``Variable._layout``, what ``train_step`` takes as state, and ``_enforce_jax_state_sharding``. Tried on keras 3.10.0, 3.13.2 and 3.15.1 with jax 0.7.2 and 0.10.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import keras
import numpy as np

from ...backends.variables import live_variables
from ..module import BATCH, OPTIMIZER, PARAMETER, STATE, Argument
from . import state
from .parts import Step
from .portable import main_of

GROUPS = (PARAMETER, STATE, OPTIMIZER, STATE)
# What jax.nn.dot_product_attention writes where no kernel is taken; Keras asks the machine that it runs on.
PLAIN_ATTENTION = "BTNH,BSNH->BNTS"
OWN_KERNEL = (
    "On a TPU, Keras on JAX may compute attention without dropout with a kernel of its own (splash attention); here it is "
    "lowered as plain matrix products."
)
# Keras 3.10 lays the state out at the end of a step as it lay before; here it has no place yet.
ENFORCED = "_enforce_jax_state_sharding"
PARTS = ("x", "y", "sample_weight")


@contextmanager
def thrown_away(model: Any) -> Iterator[None]:
    """Do what is to be done around a lowering; the variables that are made on JAX have no values to throw away."""
    _leave_replicas(model)
    yield


def build(model: Any, specs: tuple[Any, Any, Any]) -> None:
    """Build what is not built, of variables that have a shape and no value."""
    optimizer = model.optimizer
    waiting = optimizer is not None and not optimizer.built
    if waiting:
        optimizer.built = True
    with keras.StatelessScope(initialize_variables=False):
        state.build(model, specs)
    if waiting:
        optimizer.built = False
        _build_optimizer(optimizer, model.trainable_variables)


def _leave_replicas(model: Any) -> None:
    """Let what was laid out over devices be laid out for none, for the length of the lowering."""
    keras.distribution.set_distribution(None)
    for variable in live_variables(model):
        variable._layout = None


def _build_optimizer(optimizer: Any, variables: list[Any]) -> None:
    before = dict(vars(optimizer))
    try:
        with keras.StatelessScope(initialize_variables=False):
            optimizer.build(variables)
    except ValueError:  # it makes a variable of a number, which a stateless scope forbids
        vars(optimizer).update(before)
        optimizer.built = False
        optimizer.build(variables)


def trace(model: Any, specs: tuple[Any, Any, Any]) -> Step:
    """Return the training step on one batch, lowered for a TPU, with what its arguments are."""
    groups = (
        model.trainable_variables,
        model.non_trainable_variables,
        [] if model.optimizer is None else model.optimizer.variables,
        model.metrics_variables,
    )
    held = tuple([_shape(variable) for variable in group] for group in groups)
    data = keras.utils.pack_x_y_sample_weight(*keras.tree.map_structure(_shape, specs))

    # A function of its own: JAX remembers what it traced by the function, and the model may be set otherwise now.
    def train_step(state: Any, data: Any) -> Any:
        return model.train_step(state, data)

    if hasattr(model, ENFORCED):
        vars(model)[ENFORCED] = _as_they_are  # goes with everything else that a lowering leaves on the model
    traced = jax.jit(train_step, donate_argnums=0, keep_unused=True).trace(held, data)
    module = traced.lower(lowering_platforms=("tpu",)).compiler_ir("stablehlo")
    arguments = [
        Argument(variable.path, role, spec.shape, spec.dtype.name, donated=True)
        for group, specs_of, role in zip(groups, held, GROUPS, strict=True)
        for variable, spec in zip(group, specs_of, strict=True)
    ]
    rows = keras.tree.flatten(specs)[0].shape[0]
    arguments += [
        Argument(_place(path, data), BATCH, leaf.shape, leaf.dtype.name, sharded=leaf.shape[:1] == (rows,))
        for path, leaf in jax.tree_util.tree_flatten_with_path(data)[0]
    ]
    given = main_of(module).arg_attrs
    aliases = {
        place: int(attributes["tf.aliasing_output"].value)
        for place, attributes in enumerate(given)
        if "tf.aliasing_output" in attributes
    }
    text = module.operation.get_asm(enable_debug_info=True)
    return Step(text, tuple(arguments), aliases, (OWN_KERNEL,) if PLAIN_ATTENTION in text else ())


def _as_they_are(
    trainable_variables: Any = None,
    non_trainable_variables: Any = None,
    optimizer_variables: Any = None,
    metrics_variables: Any = None,
) -> tuple[Any, Any, Any, Any]:
    return trainable_variables, non_trainable_variables, optimizer_variables, metrics_variables


def _shape(one: Any) -> Any:
    if one is None:
        return None
    dtype = jax.dtypes.canonicalize_dtype(np.dtype(one.dtype) if one.dtype != "bfloat16" else jax.numpy.bfloat16)
    return jax.ShapeDtypeStruct(tuple(one.shape), dtype)


def _place(path: Any, data: Any) -> str:
    """Return where in the batch an array is: ``"x"``, ``"x['image']"``, ``"y"``."""
    if not isinstance(data, tuple):
        return f"x{jax.tree_util.keystr(path)}"
    return f"{PARTS[path[0].idx]}{jax.tree_util.keystr(path[1:])}"
