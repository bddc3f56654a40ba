"""A model's first layers as a function of text, on the host's CPU, and what is said of text that they cannot take."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import DataError, ModelError
from ..head import Made


class TextFunction:
    """Makes numbers of text as a model's first layers do, on the CPU.

    Args:
        made: What is made.
        inputs: All inputs of the model.
        dtypes: What each of them holds.
        names: What each of them is called.
        layers: The layers that make it.

    Attributes:
        shape: Of what is made, the batch axis first and None where it is not known.
        dtype: NumPy's, of what is made.
        names: What the parts that it takes are called.
    """

    def __init__(
        self, made: Made, inputs: Sequence[Any], dtypes: Sequence[str], names: Sequence[str], layers: Sequence[Any] = ()
    ) -> None:
        import tensorflow as tf

        self.names = tuple(names[place] for place in made.places)
        self._tensor, self._taken, self._layers = made.tensor, [inputs[place] for place in made.places], layers
        self._specs = [tf.TensorSpec([None, *inputs[place].shape[1:]], dtypes[place]) for place in made.places]
        self._compute: Any = self._numbers
        try:
            # Of what the layers are: a graph, which is several times as fast as one operation after the other.
            self._compute = tf.function(self._numbers, input_signature=self._specs).get_concrete_function()
            output = self._compute.structured_outputs
            self.shape, self.dtype = tuple(output.shape.as_list()), np.dtype(output.dtype.as_numpy_dtype)
        except NotImplementedError:
            # Keras on JAX gives a `standardize` of the user's NumPy arrays (since 3.14), and a graph has none.
            self.shape, self.dtype = tuple(made.tensor.shape), self._eager_dtype()

    def _numbers(self, *tensors: Any) -> Any:
        import tensorflow as tf

        with tf.device("/CPU:0"):
            return _value(self._tensor, {id(one): tensor for one, tensor in zip(self._taken, tensors, strict=True)})

    def _eager_dtype(self) -> np.dtype:
        examples = [
            np.full([1, *(length or 1 for length in spec.shape[1:])], "a" if spec.dtype.name == "string" else 0, object)
            for spec in self._specs
        ]
        return self(examples).dtype

    def __call__(self, leaves: Sequence[np.ndarray], whole: Sequence[np.ndarray] | None = None) -> np.ndarray:
        """Return the numbers of some rows; where rows have no length of their own, at least one number each.

        Args:
            leaves: What it takes, each an array ``(rows, ...)``.
            whole: All the rows they are from, to say which of them is wrong.

        Raises:
            DataError: When a row holds no text, or one that a layer refuses.
            ModelError: When a layer was not adapted.
        """
        import tensorflow as tf

        try:
            with tf.device("/CPU:0"):
                tensors = [
                    tf.convert_to_tensor(leaf if spec.dtype == tf.string else leaf.astype(spec.dtype.as_numpy_dtype))
                    for leaf, spec in zip(leaves, self._specs, strict=True)
                ]
                return _with_a_number(np.asarray(self._compute(*tensors)))
        except (TypeError, ValueError) as error:
            for name, leaf in zip(self.names, leaves if whole is None else whole, strict=True):
                refuse_what_is_no_text(name, leaf, error)
            raise
        except tf.errors.FailedPreconditionError as error:
            raise self._not_adapted() from error
        except tf.errors.InvalidArgumentError as error:
            raise DataError(f"A layer of text cannot take {' and '.join(self.names)}: {_said(error)}.") from error

    def _not_adapted(self) -> ModelError:
        empty = [
            f"{one.name!r} ({type(one).__name__})"
            for one in self._layers
            if hasattr(one, "get_vocabulary") and not one.get_vocabulary(include_special_tokens=False)
        ]
        return ModelError(
            f"A layer of text has no vocabulary: {' and '.join(empty) or self.names[0]} was not adapted.",
            expected="adapt before the model is made, with the texts of the training.",
            type_next="vectorize.adapt(x_train) for the layer vectorize",
        )


def _said(error: Any) -> str:
    """Return what a layer says of a value, without where in its graph that was."""
    lines = (re.sub(r"\{\{.*?\}\}|assertion failed:", "", line).strip() for line in str(error.message).splitlines())
    said = [
        line
        for line in lines
        if line and not line.startswith(("[[", "Detected at node", "File ", "Graph execution error"))
    ]
    return (said[0] if said else type(error).__name__).strip("[]. ").replace('\\"', '"')


def _with_a_number(numbers: np.ndarray) -> np.ndarray:
    """Return rows that no text made any longer than nothing as rows of one zero each."""
    if 0 not in numbers.shape[1:]:
        return numbers
    return np.zeros([len(numbers), *(max(length, 1) for length in numbers.shape[1:])], numbers.dtype)


def refuse_what_is_no_text(name: str, leaf: np.ndarray, error: Exception | None = None) -> None:
    """Raise DataError when rows hold something else than text, and say which.

    Args:
        name: What the part is called.
        leaf: All its rows.
        error: What it led to.
    """
    if leaf.dtype.kind != "O":
        return
    values = leaf.reshape(len(leaf), -1)
    strange = [at for at, row in enumerate(values) if not all(isinstance(one, str | bytes) for one in row)]
    if not strange:
        return
    first = next(one for one in values[strange[0]] if not isinstance(one, str | bytes))
    rows = f"{len(strange):,} of {len(leaf):,} rows, row {strange[0]:,} the first"
    if _is_missing(first):
        pandas = importlib.util.find_spec("pandas") is not None
        raise DataError(
            f"{name} has missing values: {rows}, which is {first!r}.",
            expected="text in every row; an empty one where there is none.",
            type_next=f'{name} = pandas.Series({name}).fillna("")'
            if pandas
            else f'{name} = ["" if one is None or one != one else one for one in {name}]',
        ) from error
    raise DataError(
        f"{name} holds text and, among it, {type(first).__name__}: {rows}.",
        expected="text in every row.",
        type_next=f"{name} = [str(one) for one in {name}]",
    ) from error


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


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
