"""Leave everything as it was: random generators, environment variables, the notebook's names, compiled models."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

MISSING = object()


@contextmanager
def same_random_numbers() -> Iterator[None]:
    """Put the generators of Python, NumPy and Keras back where they were.

    Private to Keras: the global seed generator. Tried on keras 3.10.0, 3.13.2 and 3.15.1.
    """
    import keras
    import numpy as np
    from keras.src.backend.common import global_state

    python, numpy = random.getstate(), np.random.get_state()
    name = "global_seed_generator"
    generator = global_state.get_global_attribute(name)
    seed = None if generator is None else np.array(keras.ops.convert_to_numpy(generator.state.value))
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        if generator is not None:
            generator.state.assign(seed)
            global_state.set_global_attribute(name, generator)


@contextmanager
def same_environment() -> Iterator[None]:
    """Put the environment variables back as they were."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in [name for name in os.environ if name not in before]:
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if os.environ.get(name) != value})


@contextmanager
def same_names(namespace: MutableMapping[str, Any]) -> Iterator[None]:
    """Put the names of a namespace back to the objects they stood for; the objects themselves may have changed."""
    before = dict(namespace)
    try:
        yield
    finally:
        for name in [name for name in namespace if name not in before]:
            del namespace[name]
        namespace.update({name: value for name, value in before.items() if namespace.get(name, MISSING) is not value})


@contextmanager
def same_compilation() -> Iterator[None]:
    """Undo every ``model.compile`` on a model that was there before: its optimizer and its loss are its own again."""
    import keras

    original = keras.Model.compile
    own = "compile" in vars(keras.Model)
    undo: list[tuple[Any, dict[str, Any]]] = []

    def compile(model: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(model))
        try:
            return original(model, *args, **kwargs)
        finally:
            changed = [name for name, value in vars(model).items() if before.get(name, MISSING) is not value]
            undo.append((model, {name: before.get(name, MISSING) for name in changed}))

    keras.Model.compile = compile
    try:
        yield
    finally:
        if own:
            keras.Model.compile = original
        else:
            del keras.Model.compile
        for model, values in reversed(undo):
            for name, value in values.items():
                if value is MISSING:
                    vars(model).pop(name, None)
                else:
                    vars(model)[name] = value
