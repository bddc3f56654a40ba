"""Text, and integers for tables, turned into numbers by a model's own first layers, batch by batch on the host's CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import DataError
from ..head import Made
from .base import Rows

AT_ONCE = 4096
"""Rows that are looked at in one go to learn how long the longest becomes."""


def function_of(made: Made, inputs: Sequence[Any], dtypes: Sequence[str]) -> Any:
    """Return a function of TensorFlow's that makes numbers as a model's first layers do, on the CPU.

    Args:
        made: What is made.
        inputs: All inputs of the model.
        dtypes: What each of them holds.
    """
    import tensorflow as tf

    taken = [inputs[place] for place in made.places]

    def numbers(*tensors: Any) -> Any:
        with tf.device("/CPU:0"):
            return _value(made.tensor, {id(one): tensor for one, tensor in zip(taken, tensors, strict=True)})

    specs = [tf.TensorSpec([None, *inputs[place].shape[1:]], dtypes[place]) for place in made.places]
    return tf.function(numbers, input_signature=specs).get_concrete_function()


def _value(tensor: Any, known: dict[int, Any]) -> Any:
    """Return what a KerasTensor becomes, the values of the inputs given."""
    import keras

    if id(tensor) not in known:
        history = tensor._keras_history
        node = history.operation._inbound_nodes[history.node_index]

        def filled(part: Any) -> Any:
            return _value(part, known) if isinstance(part, keras.KerasTensor) else part

        args, kwargs = keras.tree.map_structure(filled, (node.arguments.args, node.arguments.kwargs))
        outputs = keras.tree.flatten(history.operation(*args, **kwargs))
        known |= {id(one): output for one, output in zip(node.outputs, outputs, strict=True)}
    return known[id(tensor)]


def call(function: Any, leaves: Sequence[np.ndarray], name: str = "x") -> np.ndarray:
    """Return the numbers of some rows.

    Raises:
        DataError: When a row holds no text.
    """
    import tensorflow as tf

    try:
        with tf.device("/CPU:0"):
            tensors = [
                tf.convert_to_tensor(leaf if spec.dtype == tf.string else leaf.astype(spec.dtype.as_numpy_dtype))
                for leaf, spec in zip(leaves, function.structured_input_signature[0], strict=True)
            ]
            return function(*tensors).numpy()
    except (TypeError, ValueError) as error:
        strange = {type(one).__name__ for leaf in leaves for one in leaf.reshape(-1)} - {"str", "bytes", "str_"}
        if not strange:
            raise
        raise DataError(
            f"{name} holds text and, among it, {' and '.join(sorted(strange))}.",
            expected="text in every row; an empty one where there is none.",
            type_next=f'{name} = ["" if one is None else str(one) for one in {name}]',
        ) from error


class MadeRows(Rows):
    """Rows that a model's first layers make of text when a batch asks for them.

    Args:
        function: From `function_of`.
        leaves: What it takes, each an array ``(rows, ...)``.

    Attributes:
        longest: How long every row is made with zeros at its end, None where the layers say how long rows are.
        lengths: How long each row is without the zeros at its end, likewise.
    """

    def __init__(self, function: Callable[..., Any], leaves: Sequence[np.ndarray]) -> None:
        output = function.structured_outputs  # type: ignore[attr-defined]
        self.function, self.leaves = function, leaves
        self.longest: int | None = None
        self.lengths: np.ndarray | None = None
        shape = output.shape.as_list()[1:]
        if None in shape:
            self.lengths, self.longest = self._look()
            shape = [self.longest if length is None else length for length in shape]
        super().__init__((len(leaves[0]), *shape), output.dtype.as_numpy_dtype)

    def _look(self) -> tuple[np.ndarray, int]:
        """Make every row once and keep none: return how long each is, and how long the layers make the longest."""
        rows, lengths, longest = len(self.leaves[0]), [], 0
        for at in range(0, rows, AT_ONCE):
            there = call(self.function, [leaf[at : at + AT_ONCE] for leaf in self.leaves]) != 0
            there = there.reshape(*there.shape[:2], -1).any(axis=2)
            lengths.append((there * np.arange(1, there.shape[1] + 1)).max(axis=1, initial=0))
            longest = max(longest, there.shape[1])
        return np.concatenate(lengths), longest

    def gather(self, rows: np.ndarray) -> np.ndarray:
        """Make the numbers of some rows."""
        numbers = call(self.function, [leaf[rows] for leaf in self.leaves])
        if numbers.shape[1:] == self.shape[1:]:
            return numbers
        padded = np.zeros((len(rows), *self.shape[1:]), self.dtype)
        padded[:, : numbers.shape[1]] = numbers
        return padded


def text_array(leaf: Any, shape: tuple[int | None, ...], name: str = "x") -> np.ndarray:
    """Return a user's text as an array that fits an input of a model.

    Args:
        leaf: An array, a list, a pandas column or a tensor of text.
        shape: The input's, the batch axis first.
        name: What it is called.

    Raises:
        DataError: When it holds no text, or rows of another shape.
    """
    if type(leaf).__module__.split(".")[0] == "pandas":
        leaf = leaf.to_numpy(dtype=object)
    elif isinstance(leaf, list | tuple):
        leaf = np.array(leaf, dtype=object)
    elif not isinstance(leaf, np.ndarray):
        leaf = np.asarray(leaf)
    if leaf.dtype.kind == "T":
        leaf = leaf.astype(object)
    if leaf.dtype.kind not in "USO":
        raise DataError(
            f"{name} holds numbers (dtype {leaf.dtype}), and the model begins with text.",
            expected="an array of text.",
            type_next=f"{name} = {name}.astype(str)",
        )
    return fitted(leaf, shape, name)


def fitted(leaf: Any, shape: tuple[int | None, ...], name: str = "x") -> Any:
    """Return an array with as many axes as an input has, one of length 1 added or left out, as Keras does."""
    if leaf.ndim == len(shape) + 1 and leaf.shape[-1] == 1:
        return leaf.reshape(leaf.shape[:-1])
    if leaf.ndim == len(shape) - 1 and shape[-1] == 1:
        return leaf.reshape(*leaf.shape, 1)
    if leaf.ndim != len(shape):
        raise DataError(
            f"{name} has rows of shape {leaf.shape[1:]}, and the model takes {tuple(shape[1:])}.",
            expected="rows of the shape that keras.Input was given.",
        )
    return leaf
