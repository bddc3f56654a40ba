"""What a text alone does not tell: names that earlier cells have bound, and files that are there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import CO_GENERATOR
from types import FunctionType, ModuleType
from typing import Any

# What these names stand for in nearly every notebook, where the import is in another cell.
USUAL_NAMES = {
    "K": "keras.backend",
    "keras": "keras",
    "np": "numpy",
    "numpy": "numpy",
    "optimizers": "keras.optimizers",
    "os": "os",
    "pd": "pandas",
    "tensorflow": "tensorflow",
    "tf": "tensorflow",
}
RATE_CALLBACKS = ("LearningRateScheduler", "ReduceLROnPlateau")


@dataclass(frozen=True)
class Context:
    """What is known beside the text.

    Attributes:
        names: Name to the dotted path that it was imported as; "" for what the notebook defines itself.
        functions: Names of functions that return data when they are called without arguments; no generator functions.
        saved: Names of weight files that earlier cells save.
        exists: Says whether a file is there.
        sets_rate: Whether other cells set an optimizer's learning rate, or have a callback that does.
        metrics: Names in the metrics that other cells compile models with.
    """

    names: Mapping[str, str] = field(default_factory=lambda: dict(USUAL_NAMES))
    functions: frozenset[str] = frozenset()
    saved: frozenset[str] = frozenset()
    exists: Callable[[str], bool] = os.path.exists
    sets_rate: bool = False
    metrics: frozenset[str] = frozenset()


def context_of(namespace: Mapping[str, Any]) -> Context:
    """Return what a notebook's namespace tells: imported modules, and functions without required arguments."""
    names = dict(USUAL_NAMES)
    functions = set()
    for name, value in list(namespace.items()):
        if isinstance(value, ModuleType):
            # tf.keras calls itself keras._tf_keras.keras, TensorFlow's modules tensorflow._api.v2.
            path = str(getattr(value, "__name__", ""))
            path = path.replace("keras._tf_keras.keras", "tensorflow.keras").replace("._api.v2", "")
            names[name] = path
            continue
        names[name] = ""  # the notebook's own, whatever it is called
        if isinstance(value, type):
            names[name] = _path_of_class(value)
        elif isinstance(value, FunctionType) and _needs_nothing(value):
            functions.add(name)
    sets_rate = any(type(value).__name__ in RATE_CALLBACKS for value in list(namespace.values()))
    return Context(names, frozenset(functions), sets_rate=sets_rate)


def _path_of_class(value: type) -> str:
    """Return where a class is imported from: an optimizer of Keras lives deeper than it is called."""
    module = str(getattr(value, "__module__", ""))
    if module.startswith("keras.src.optimizers."):
        return f"keras.optimizers.{value.__name__}"
    return f"{module}.{value.__name__}"


def _needs_nothing(function: FunctionType) -> bool:
    """Return whether a call without arguments gives the data; a generator function is data as it is."""
    code = function.__code__
    required = code.co_argcount - len(function.__defaults__ or ())
    if code.co_flags & CO_GENERATOR:
        return False
    return required == 0 and code.co_kwonlyargcount == len(function.__kwdefaults__ or {})
