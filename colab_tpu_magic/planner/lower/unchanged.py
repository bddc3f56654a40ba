"""Remember everything that a model and Keras keep about themselves, and put it back exactly.

A trace of a step builds what is not built, and Python code of layers may write down what it likes. What is
remembered: the attributes of every Keras object that the model reaches (layers, variables, metrics, losses, optimizers,
seeds, dtype policies), the contents of the lists, dicts and sets in them, Keras' counters of names, and the random
generators of Python, NumPy and Keras.

Private to Keras: ``keras.src.backend.common.global_state``. Tried on keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

GENERATOR = "global_seed_generator"
# On TensorFlow, Keras' objects note their parts for checkpoints in objects of TensorFlow's.
OWNERS = ("keras.", "tensorflow.python.trackable.", "tensorflow.python.util.object_identity")


@contextmanager
def unchanged(model: Any) -> Iterator[None]:
    """Put a model and Keras' own state back to where they were, also after an error."""
    from keras.src.backend.common import global_state

    python, numpy = random.getstate(), np.random.get_state()
    settings = vars(global_state.GLOBAL_STATE_TRACKER)
    generator = settings.get(GENERATOR)
    seed: Any = None if generator is None else _value(generator.state)
    saved = _Saved([model, settings])
    try:
        yield
    finally:
        saved.restore()
        if generator is not None and not np.array_equal(_value(generator.state), seed):
            generator.state.assign(seed)
        random.setstate(python)
        np.random.set_state(numpy)


def _value(variable: Any) -> Any:
    import keras

    return np.array(keras.ops.convert_to_numpy(variable.value))


class _Saved:
    """The contents of all mutable objects that are reached from some roots."""

    def __init__(self, roots: list[Any]) -> None:
        self._contents: list[tuple[Any, Any]] = []
        seen: set[int] = set()
        waiting = list(roots)
        while waiting:
            one = waiting.pop()
            if id(one) in seen:
                continue
            inside = self._inside(one)
            if inside is not None:
                seen.add(id(one))
                waiting.extend(inside)

    def _inside(self, one: Any) -> list[Any] | None:
        """Write down the contents of an object, and return what to look at next; None for what holds nothing."""
        if isinstance(one, str | bytes | int | float | type) or one is None:
            return None
        if isinstance(one, dict | tuple) and not issubclass(type(one), dict | tuple):
            return [getattr(one, "__wrapped__", None)]  # TensorFlow's wrapper around an attribute of a layer
        if isinstance(one, tuple | frozenset):
            return list(one)
        inside: list[Any] = []
        if isinstance(one, list | set | deque):
            self._contents.append((one, list(one)))
            inside = list(one)
        elif isinstance(one, dict):
            self._contents.append((one, dict(one)))
            inside = list(one.values())
        if _is_of_keras(one) or (inside and hasattr(one, "__dict__")):
            attributes = vars(one)
            self._contents.append((attributes, dict(attributes)))
            inside = [*inside, *attributes.values()]
        return inside

    def restore(self) -> None:
        """Give every object its contents again, where they are others now."""
        for holder, contents in self._contents:
            if isinstance(holder, dict):
                same = len(holder) == len(contents) and all(
                    name in holder and holder[name] is value for name, value in contents.items()
                )
                if not same:
                    plain = OrderedDict if isinstance(holder, OrderedDict) else dict
                    plain.clear(holder)
                    plain.update(holder, contents)
            elif isinstance(holder, list):
                if len(holder) != len(contents) or any(a is not b for a, b in zip(holder, contents, strict=True)):
                    list.__setitem__(holder, slice(None), contents)
            elif isinstance(holder, set):
                if holder != set(contents):
                    set.clear(holder)
                    set.update(holder, contents)
            elif list(holder) != contents:
                holder.clear()
                holder.extend(contents)


def _is_of_keras(one: Any) -> bool:
    """Return whether an object is of one of Keras' classes, or of a class that the user derived from one."""
    return hasattr(one, "__dict__") and any(base.__module__.startswith(OWNERS) for base in type(one).__mro__)
