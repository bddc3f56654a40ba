"""The layers of text that a model begins with, which run in the data pipeline, and the rest, which trains.

Private to Keras: ``Sequential._functional``, and ``_inputs``, ``_outputs`` and ``_nodes_by_depth`` of a functional
model. Tried on keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

OF_TEXT = ("TextVectorization", "StringLookup")
OF_INTEGERS = ("IntegerLookup", "Hashing", "HashedCrossing")
BETWEEN = ("CategoryEncoding", "Discretization")


@dataclass(frozen=True)
class Made:
    """Numbers that the data pipeline makes of some of the model's inputs.

    Attributes:
        places: Which of the model's inputs they are made of.
        tensor: Where in the model they come out, a KerasTensor.
    """

    places: tuple[int, ...]
    tensor: Any


@dataclass(frozen=True)
class Head:
    """How a model is cut in two.

    Attributes:
        inputs: The model's inputs in order, KerasTensors.
        dtypes: What each holds: ``"string"``, also where a model without an Input took a dtype of numbers for it.
        names: Under which name data given as a dict holds each.
        made: What the data pipeline makes of them.
        passed: Places of inputs that the rest takes as they are.
        outputs: The model's outputs, as it nests them.
        layers: The layers that run in the data pipeline.
    """

    inputs: tuple[Any, ...]
    dtypes: tuple[str, ...]
    names: tuple[str, ...]
    made: tuple[Made, ...]
    passed: tuple[int, ...]
    outputs: Any
    layers: tuple[Any, ...]

    @property
    def cuts(self) -> list[Any]:
        """Where the rest begins: what is made, then what is passed."""
        return [*(one.tensor for one in self.made), *(self.inputs[place] for place in self.passed)]


class CannotCut(Exception):
    """Why a model cannot be cut, as the end of a sentence about its first layer of text."""

    def __init__(self, layer: Any, reason: str) -> None:
        super().__init__(reason)
        self.layer = layer
        self.reason = reason


def text_layers_of(model: Any) -> list[Any]:
    """Return the layers of a model, at any depth, that compute with strings or in tables of TensorFlow's; strings first."""
    every = list(model._flatten_layers(include_self=False))
    return [layer for names in (OF_TEXT, OF_INTEGERS) for layer in every if is_one_of(layer, names)]


def is_one_of(layer: Any, names: tuple[str, ...]) -> bool:
    """Return whether a layer is of one of Keras' classes, or of a class made from one."""
    import keras

    return isinstance(layer, tuple(kind for name in names if (kind := getattr(keras.layers, name, None)) is not None))


def waits_for_data(model: Any) -> bool:
    """Return whether a model is a Sequential that begins with text and learns the shape of its input from data."""
    import keras

    if not isinstance(model, keras.Sequential) or type(model).call is not keras.Sequential.call:
        return False
    if graph_of(model) is not None or not model.layers:
        return False
    return is_one_of(model.layers[0], OF_TEXT + OF_INTEGERS)


def graph_of(model: Any) -> Any:
    """Return the functional model that a model's layers form, None where its ``call`` is code of its own."""
    import keras

    functional = _functional()
    if isinstance(model, keras.Sequential):
        return model._functional if type(model).call is keras.Sequential.call else None
    return model if isinstance(model, functional) and type(model).call is functional.call else None


def _functional() -> Any:
    from keras.src.models.functional import Functional

    return Functional


def find_head(model: Any) -> Head | None:
    """Return how a model is cut, None where it has no layer of text.

    Raises:
        CannotCut: When it has one that cannot run in the data pipeline.
    """
    needed = text_layers_of(model)
    if not needed:
        return None
    graph = graph_of(model)
    if graph is None:
        raise CannotCut(needed[0], "the model's call is code of its own, or the model is not built yet")
    if len(graph._inputs) > 1 and _has_own_step(model):
        raise CannotCut(needed[0], "a train_step of its own may take the inputs apart")
    nodes = list(_nodes_of(graph))
    makers = {id(tensor): node for node in nodes for tensor in node.outputs}
    head: dict[int, Any] = {}
    for node in nodes:
        if is_one_of(node.operation, OF_TEXT + OF_INTEGERS):
            _take(node, makers, head)
    reached = {id(layer) for node in head.values() for layer in node.operation._flatten_layers()}
    missed = [layer for layer in needed if id(layer) not in reached]
    if missed:
        raise CannotCut(missed[0], "it is inside another layer or model")
    return _cut(graph, nodes, head, makers)


def _has_own_step(model: Any) -> bool:
    import keras

    own = ("train_step", "test_step", "predict_step", "compute_loss")
    return any(getattr(type(model), name, None) is not getattr(keras.Model, name, None) for name in own)


def _take(node: Any, makers: dict[int, Any], head: dict[int, Any]) -> None:
    """Add a layer and all that is before it to the head."""
    layer = node.operation
    if not is_one_of(layer, OF_TEXT + OF_INTEGERS + BETWEEN):
        raise CannotCut(layer, "a layer of text comes after it")
    if getattr(layer, "_ragged", False) or getattr(layer, "ragged", False) or getattr(layer, "sparse", False):
        raise CannotCut(layer, "it gives ragged or sparse tensors")
    head[id(node)] = node
    for tensor in node.input_tensors:
        maker = makers.get(id(tensor))
        if maker is not None and id(maker) not in head:
            _take(maker, makers, head)


def _cut(graph: Any, nodes: list[Any], head: dict[int, Any], makers: dict[int, Any]) -> Head:
    inputs = tuple(graph._inputs)
    rest = [node for node in nodes if id(node) not in head]
    read = {id(tensor): tensor for node in rest for tensor in node.input_tensors}
    read |= {id(tensor): tensor for tensor in graph._outputs}
    layers = tuple({id(node.operation): node.operation for node in head.values()}.values())
    if not rest:
        raise CannotCut(layers[0], "no layer comes after it")
    made = []
    for node in nodes:
        for tensor in node.outputs if id(node) in head else ():
            if id(tensor) in read:
                if tensor.dtype == "string":
                    raise CannotCut(node.operation, "what comes after it reads text, too")
                made.append(Made(tuple(sorted(_places(tensor, inputs, makers))), tensor))
    passed = tuple(place for place, tensor in enumerate(inputs) if id(tensor) in read)
    text = {id(tensor) for node in head.values() if is_one_of(node.operation, OF_TEXT) for tensor in node.input_tensors}
    dtypes = tuple("string" if id(tensor) in text else str(tensor.dtype) for tensor in inputs)
    for place in passed:
        if dtypes[place] == "string":
            raise CannotCut(layers[0], "another layer reads text, too")
    struct = graph._inputs_struct
    keys = sorted(struct) if isinstance(struct, dict) else [tensor.name for tensor in inputs]
    return Head(inputs, dtypes, tuple(keys), tuple(made), passed, graph._outputs_struct, layers)


def _nodes_of(graph: Any) -> Iterator[Any]:
    """Yield the calls of a functional model's layers, each after those whose results it takes."""
    for depth in sorted(graph._nodes_by_depth, reverse=True):
        yield from (node for node in graph._nodes_by_depth[depth] if not node.is_input)


def _places(tensor: Any, inputs: tuple[Any, ...], makers: dict[int, Any]) -> set[int]:
    maker = makers.get(id(tensor))
    if maker is None:
        return {place for place, one in enumerate(inputs) if one is tensor}
    return {place for one in maker.input_tensors for place in _places(one, inputs, makers)}
