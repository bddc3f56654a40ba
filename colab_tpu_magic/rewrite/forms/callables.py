"""Functions that make the data when they are called: the ``input_fn`` of old, and generator functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...errors import DataError
from .base import Stream

KERAS_BATCH_SIZE = 32


@dataclass(frozen=True)
class Called:
    """What a function made.

    Attributes:
        result: What it returned.
        again: Calls it once more, the same way.
    """

    result: Any
    again: Callable[[], Any]

    def passes(self) -> Stream | None:
        """Return an iterator's batches as passes, each from a call of its own; None for any other result."""
        if not isinstance(self.result, Iterator):
            return None
        first = [self.result]
        return Stream("generator function", lambda: first.pop() if first else self.again())


def call(function: Any, batch_size: int | None) -> Called | None:
    """Call a function without arguments, or with the batch size when it asks for one; None for what is no function.

    Args:
        function: What the user gave as x.
        batch_size: The user's, or None.

    Raises:
        DataError: When it needs other arguments, or returns nothing.
    """
    arguments = call_arguments(function, batch_size)
    if arguments is None:
        return None
    name = getattr(function, "__name__", type(function).__name__)
    result = function(**arguments)
    if result is None:
        raise DataError(
            f"The function {name} returned nothing.",
            expected="a dataset, arrays, (x, y) or batches.",
            type_next="return dataset",
        )
    return Called(result, lambda: function(**arguments))


def call_arguments(function: Any, batch_size: int | None) -> dict[str, Any] | None:
    """Return the arguments that a function of data is called with; None for what is no such function.

    Raises:
        DataError: When it needs other arguments.
    """
    if not callable(function) or isinstance(function, type) or _holds_data(function):
        return None
    return _arguments(function, getattr(function, "__name__", type(function).__name__), batch_size)


def _holds_data(thing: Any) -> bool:
    import keras

    if isinstance(thing, keras.Layer):
        raise DataError(
            f"x is a {type(thing).__name__}, a layer or model.", expected="data.", type_next="model.fit(x, y)"
        )
    return any(hasattr(thing, name) for name in ("__array__", "__iter__", "__len__", "to_numpy", "shape"))


def _arguments(function: Any, name: str, batch_size: int | None) -> dict[str, Any]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    needed = [
        one.name
        for one in parameters
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    size = batch_size or KERAS_BATCH_SIZE
    if needed == ["params"]:  # as TPUEstimator called it
        return {"params": {"batch_size": size}}
    if needed and needed != ["batch_size"]:
        raise DataError(
            f"The function {name} needs {', '.join(needed)}.",
            expected="a function that can be called without arguments.",
            type_next=f"model.fit(lambda: {name}({', '.join(needed)}), ...)",
        )
    takes_size = any(one.name == "batch_size" and one.kind is not one.POSITIONAL_ONLY for one in parameters)
    return {"batch_size": size} if needed or (batch_size and takes_size) else {}
