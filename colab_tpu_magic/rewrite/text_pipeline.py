"""Give a model's data as numbers where the model begins with text: arrays by row, streams batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

import numpy as np

from ..backends.cut_model import Kept, cut, is_cut, rest_of
from ..errors import DataError, ModelError
from .arrays.text import MadeRows, fitted, text_array
from .arrays.text_function import TextFunction
from .head import OF_TEXT, CannotCut, Head, find_head, is_one_of, text_layers_of, waits_for_data


class TextPipeline:
    """The first layers of a model as functions of data.

    Made anew for every call, for ``adapt`` gives a layer another table.

    Args:
        head: How the model is cut.
    """

    def __init__(self, head: Head) -> None:
        self.head = head

    @cached_property
    def functions(self) -> list[TextFunction]:
        """One for each thing that is made."""
        head = self.head
        names = [self._called(name) for name in head.names]
        return [TextFunction(made, head.inputs, head.dtypes, names, head.layers) for made in head.made]

    @cached_property
    def rest(self) -> Any:
        """The layers that train, as a functional model of the same layers."""
        return rest_of(self.head.cuts, self.head.outputs)

    def rows(self, x: Any) -> Any:
        """Return arrays of text as rows that become numbers when a batch is gathered.

        Raises:
            DataError: When a part is missing, or is no text.
        """
        leaves = self._leaves(x)
        made: list[Any] = [
            MadeRows(function, [np.asarray(leaves[place]) for place in one.places])
            for one, function in zip(self.head.made, self.functions, strict=True)
        ]
        return _alone_or_list([*made, *(leaves[place] for place in self.head.passed)])

    def numbers(self, x: Any) -> Any:
        """Return one batch of text as numbers."""
        leaves = self._leaves(x)
        made = [
            function([np.asarray(leaves[place]) for place in one.places])
            for one, function in zip(self.head.made, self.functions, strict=True)
        ]
        return _alone_or_list([*made, *(leaves[place] for place in self.head.passed)])

    def element(self, element: Any) -> Any:
        """Return one batch of a stream, ``x`` or ``(x, y, ...)``, with x as numbers."""
        if isinstance(element, tuple | list):
            return (self.numbers(element[0]), *element[1:])
        return self.numbers(element)

    def free(
        self, elements: Sequence[Any], free: Sequence[tuple[int, ...] | None]
    ) -> tuple[tuple[int, ...] | None, ...]:
        """Return the axes of varying length, as `forms.base.Stream.free` has them, after text became numbers.

        Args:
            elements: The first batch as the data gives it, or nothing where there is none.
            free: The axes before.
        """
        import keras

        if not elements:
            return tuple(free)
        element = elements[0]
        x = element[0] if isinstance(element, tuple | list) else element
        count = len(keras.tree.flatten(x))
        own = dict(zip(map(id, keras.tree.flatten(x)), free, strict=False))
        shapes = [function.shape for function in self.functions]
        axes = [tuple(at for at, length in enumerate(shape) if at and length is None) for shape in shapes]
        given = self._given(x)
        found = [*axes, *(own.get(id(given[place]), ()) for place in self.head.passed), *free[count:]]
        return tuple(found) if any(one is None or one for one in found) else ()

    def _given(self, x: Any) -> list[Any]:
        """Return what the data gives for each of the model's inputs."""
        import keras

        head = self.head
        if isinstance(x, dict):
            missing = [name for name in head.names if name not in x]
            if missing:
                raise DataError(
                    f"x has no part {missing[0]!r}, which the model takes.",
                    expected=f"the parts {', '.join(head.names)}.",
                )
            return [x[name] for name in head.names]
        if len(head.inputs) == 1:
            boxed = isinstance(x, list | tuple) and len(x) == 1 and bool(getattr(x[0], "ndim", 0))
            return [x[0] if boxed else x]
        parts = list(x) if isinstance(x, list | tuple) else keras.tree.flatten(x)
        if len(parts) != len(head.inputs):
            raise DataError(
                f"x has {len(parts)} parts, and the model takes {len(head.inputs)}.",
                expected=f"a list, or a dict with the parts {', '.join(head.names)}.",
            )
        return parts

    def _called(self, name: str) -> str:
        return "x" if len(self.head.inputs) == 1 else f"x[{name!r}]"

    def _leaves(self, x: Any) -> list[Any]:
        from .sources import as_arrays

        leaves = []
        head = self.head
        for leaf, tensor, dtype, name in zip(self._given(x), head.inputs, head.dtypes, head.names, strict=True):
            if dtype == "string":
                several = head.names if len(head.inputs) > 1 else ()
                leaves.append(text_array(leaf, tensor.shape, self._called(name), several))
            else:
                leaves.append(fitted(as_arrays(leaf, self._called(name)), tensor.shape, self._called(name)))
        return leaves


def begins_with_text(model: Any) -> bool:
    """Return whether a model has a layer that takes text."""
    if not hasattr(model, "_flatten_layers"):
        return False
    return any(is_one_of(layer, OF_TEXT) for layer in text_layers_of(model))


def text_pipeline(model: Any, x: Any = None) -> TextPipeline | None:
    """Return the functions that make numbers of a model's data, None where it takes them as they are.

    Args:
        model: The Keras model, or None.
        x: The data, from which a model that is not built yet learns its input's shape.

    Raises:
        ModelError: When the model is not built and the data does not tell the shape of its input.
    """
    if model is None or not hasattr(model, "_flatten_layers"):
        return None
    if waits_for_data(model):
        model.build(_input_shape(model, x))
    try:
        head = find_head(model)
    except CannotCut:
        return None
    return None if head is None else TextPipeline(head)


def taking_numbers(model: Any, kept: Kept | None = None) -> AbstractContextManager[None]:
    """Return the context in which a model that begins with text takes the numbers that are made of it.

    Args:
        model: The Keras model; one that does not begin with text is left alone.
        kept: Keeps the compiled steps from one call to the next.
    """
    pipeline = None if is_cut(model) else text_pipeline(model)
    return cut(model, None if pipeline is None else pipeline.rest, kept)


def _input_shape(model: Any, x: Any) -> tuple[int | None, ...]:
    shape = np.array(x, dtype=object).shape if isinstance(x, list | tuple) else getattr(x, "shape", None)
    if shape is not None and len(shape):
        return (None, *map(int, shape[1:]))
    first = model.layers[0]
    if type(first).__name__ == "TextVectorization":
        return (None, 1)
    raise ModelError(
        f"The model begins with {first.name!r} ({type(first).__name__}), and does not say how many texts a row has.",
        expected="an Input before it.",
        type_next='model = keras.Sequential([keras.Input((1,), dtype="string"), ...])',
    )


def _alone_or_list(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else parts
