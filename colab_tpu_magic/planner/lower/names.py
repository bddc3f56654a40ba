"""Tell from an operation's name which layer it belongs to, and whether it is forward, backward or the optimizer's.

A name on JAX is ``jit(train_step)/transpose(jvp(encoder))/dense/dot_general``, on TensorFlow
``gradient_tape/forward/encoder/dense/MatMul``: both are ``encoder/dense``, backward.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

ROOT = "forward"
GRADIENT = "gradient_tape"
LOSS_SCOPES = ("compile_loss", "loss")
FORWARD, BACKWARD, OPTIMIZER, LOSS, REST = "forward", "backward", "optimizer", "loss", "rest"
WRAPPED = re.compile(r"^(?:(\w+)\((.*)\))$")


@dataclass(frozen=True)
class Named:
    """Where in the step an operation belongs.

    Attributes:
        layer: The path of a layer, ``""`` for what is of no layer.
        part: ``"forward"``, ``"backward"``, ``"optimizer"``, ``"loss"``, ``"rest"`` (metrics and what has no scope), or
            ``""`` for an operation without a name.
    """

    layer: str
    part: str


def named(op_name: str, layers: Sequence[str], optimizer: str = "") -> Named:
    """Return where an operation of a compiled step belongs.

    Args:
        op_name: The name in the compiled text's metadata.
        layers: `Lowered.layers`.
        optimizer: `Lowered.optimizer`.

    Example:
        >>> named("jit(train_step)/transpose(jvp(encoder))/dense/dot_general", ["encoder", "encoder/dense"])
        Named(layer='encoder/dense', part='backward')
    """
    if not op_name:
        return Named("", "")
    scopes, wrappers = _unwrapped(op_name)
    backward = "transpose" in wrappers or GRADIENT in scopes[:1]
    differentiated = backward or "jvp" in wrappers or ROOT in scopes[:1]
    if scopes and scopes[0] == GRADIENT:
        scopes = scopes[1:]
    if scopes and scopes[0] == ROOT:
        scopes = scopes[1:]
    layer = _layer(scopes, layers)
    if layer:
        return Named(layer, BACKWARD if backward else FORWARD)
    if optimizer and any(re.sub(r"_\d+$", "", scope) == re.sub(r"_\d+$", "", optimizer) for scope in scopes):
        return Named("", OPTIMIZER)
    if any(scope in LOSS_SCOPES for scope in scopes):
        return Named("", LOSS)
    if differentiated:
        return Named("", BACKWARD if backward else FORWARD)
    return Named("", REST)


def _unwrapped(op_name: str) -> tuple[list[str], set[str]]:
    """Return the scopes that an operation stands in, without transformations, and the transformations."""
    wrappers: set[str] = set()
    scopes = []
    *above, last = op_name.split("/")
    for scope in [*above, last if last.startswith(("jvp(", "transpose(")) else ""]:
        while (wrapped := WRAPPED.match(scope)) is not None:
            wrapper, scope = wrapped.groups()
            wrappers.add(wrapper)
            if wrapper == "jit":
                scope = ""
        if scope:
            scopes.append(scope)
    return scopes, wrappers


def _layer(scopes: list[str], layers: Sequence[str]) -> str:
    """Return the longest path of a layer whose parts stand in the scopes in order, beginning with the first layer."""
    known = set(layers)
    path = ""
    for scope in scopes:
        longer = f"{path}/{scope}" if path else scope
        if longer in known:
            path = longer
    return path
