"""Read a `train_step` of the user's own: how it makes its loss, and what it logs.

On several TensorFlow replicas the gradients of all replicas are added up. Keras' losses are
divided by the number of replicas for that; a plain mean is not, and trains with a multiple of
the learning rate. Only the text of the step tells which it is, so what cannot be told is said to be.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

SCALED = {"compute_loss", "_compute_loss", "compiled_loss", "stateless_compute_loss"}
BY_HAND = {"num_replicas_in_sync", "compute_average_loss", "scale_regularization_loss", "scale_loss_for_distribution"}
MEANS = {"reduce_mean", "mean"}
SUMS = {"reduce_sum", "sum"}

Kind = Literal["keras", "scaled", "mean", "mixed", "unclear"]


@dataclass(frozen=True)
class TrainStep:
    """What was read.

    Attributes:
        kind: ``"keras"`` for Keras' own step or one that calls it; ``"scaled"`` when its loss is
            divided by the replicas; ``"mean"`` when it is a plain mean over rows and nothing else;
            ``"mixed"`` when it is both; ``"unclear"`` when the text does not tell.
        logged: Names of scaled losses that the step logs as they are, which are too small then.
        owner: Name of the class that defines the step.
    """

    kind: Kind
    logged: tuple[str, ...] = ()
    owner: str = ""


def read_compute_loss(model: Any, replicas: int) -> TrainStep:
    """Return what the text of a model's `compute_loss` says, where it is the user's own.

    Args:
        model: A Keras model.
        replicas: As for `read_train_step`.
    """
    import keras

    own = type(model).compute_loss
    if own is keras.Model.compute_loss or (own.__module__ or "").split(".")[0] == "keras":
        return TrainStep("keras")
    return _read(model, own, replicas)


def read_train_step(model: Any, replicas: int) -> TrainStep:
    """Return what the text of a model's `train_step` says.

    Args:
        model: A Keras model.
        replicas: Devices that share the batch; a division by just that number counts as done by hand.
    """
    import keras

    step = type(model).train_step
    if step is keras.Model.train_step or (step.__module__ or "").split(".")[0] == "keras":
        return TrainStep("keras")
    return _read(model, step, replicas)


def _read(model: Any, step: Any, replicas: int) -> TrainStep:
    """Return what the text of a method says, and of the methods of the user's own that it calls."""
    owner = step.__qualname__.rpartition(".")[0].rpartition(".")[2]
    bodies = [body for function in _reached(model, step) if (body := _body_of(function)) is not None]
    if not bodies:
        return TrainStep("unclear", owner=owner)
    nodes = [node for body in bodies for node in ast.walk(body)]
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    names |= {node.id for node in nodes if isinstance(node, ast.Name)}
    if any(_is_super_step(node) for node in nodes):
        return TrainStep("keras", owner=owner)
    losses = _loss_objects(model)
    by_hand = bool(names & BY_HAND)
    scaled = by_hand or bool(names & (SCALED | _loss_names(model, step))) or any(_calls(node, losses) for node in nodes)
    mean = any(_is_call_of(node, MEANS) for node in nodes)
    logged = () if by_hand else tuple(dict.fromkeys(name for body in bodies for name in _logged(body, losses)))
    if scaled:
        return TrainStep("mixed" if mean and not by_hand else "scaled", logged, owner)
    if mean and not any(_sums_or_divides(node, replicas) for node in nodes):
        return TrainStep("mean", owner=owner)
    return TrainStep("unclear", owner=owner)


def _reached(model: Any, step: Any) -> Iterator[Any]:
    """Yield the step, and the methods of the user's own that it calls."""
    import keras

    yield step
    for name in inspect.unwrap(step).__code__.co_names:
        method = inspect.getattr_static(type(model), name, None)
        if inspect.isfunction(method) and method is not step and not hasattr(keras.Model, name):
            yield method


def _body_of(function: Any) -> ast.AST | None:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, TypeError, SyntaxError):
        return None


def _loss_objects(model: Any) -> set[str]:
    """Return the attributes of a model that hold Keras losses."""
    import keras

    return {name for name, value in vars(model).items() if isinstance(value, keras.losses.Loss)}


def _loss_names(model: Any, step: Any) -> set[str]:
    """Return the names of Keras' loss classes, and those under which losses are known where methods are written."""
    import keras

    def is_loss(value: Any) -> bool:
        return isinstance(value, keras.losses.Loss) or (
            isinstance(value, type) and issubclass(value, keras.losses.Loss)
        )

    found = {name for name in dir(keras.losses) if is_loss(getattr(keras.losses, name))}
    for function in _reached(model, step):
        known = inspect.unwrap(function).__globals__
        found |= {name for name in inspect.unwrap(function).__code__.co_names if is_loss(known.get(name))}
    return found


def _is_call_of(node: ast.AST, names: set[str]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    return (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")) in names


def _calls(node: ast.AST, attributes: set[str]) -> bool:
    """Return whether a node is ``self.NAME(...)`` of a loss object, or of one of Keras' scaled methods."""
    return _is_call_of(node, attributes) and isinstance(node.func, ast.Attribute)  # type: ignore[attr-defined]


def _is_super_step(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "train_step"):
        return False
    inner = node.func.value
    return isinstance(inner, ast.Call) and getattr(inner.func, "id", "") == "super"


def _sums_or_divides(node: ast.AST, replicas: int) -> bool:
    if _is_call_of(node, SUMS):
        return not _over_features_only(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        divisor = node.right
        return not (isinstance(divisor, ast.Constant) and divisor.value != replicas)
    return False


def _over_features_only(call: ast.AST) -> bool:
    """Return whether a sum names its axes and leaves the rows alone."""
    assert isinstance(call, ast.Call)
    axis: ast.AST | None = next((word.value for word in call.keywords if word.arg == "axis"), None)
    if axis is None and len(call.args) > 1:
        axis = call.args[1]
    try:
        axes = ast.literal_eval(axis) if axis is not None else 0
    except ValueError:
        return False
    return axes is not None and 0 not in (axes if isinstance(axes, tuple | list) else (axes,))


def _logged(body: ast.AST, losses: set[str]) -> Iterator[str]:
    """Yield variables that hold a scaled loss and go into a metric, or out of the step, as they are."""
    held = {
        target.id
        for node in ast.walk(body)
        if isinstance(node, ast.Assign) and _calls(node.value, losses | SCALED)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(body):
        values: list[ast.AST] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update_state":
            values = list(node.args[:1])
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Dict):
            values = list(node.value.values)
        for value in values:
            if isinstance(value, ast.Name) and value.id in held:
                yield value.id
