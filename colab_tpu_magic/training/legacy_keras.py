"""Keras 2 (`tf_keras`) in a cell: train it on TensorFlow replicas where it was made there, else say so at once.

Its variables are plain tf.Variables that layers hold in attributes of their own, so a model that
exists cannot be moved in place; none of the rules and no dashboard apply to it. Private to
tf_keras: nothing; the methods of ``tf_keras.Model`` are replaced while a cell runs. Tried on
tf_keras 2.21.0.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import ModelError

if TYPE_CHECKING:
    from ..backends.base import Runtime

METHODS = ("fit", "evaluate", "predict", "fit_generator")
LEGACY_SWITCH = "TF_USE_LEGACY_KERAS"


def expect_legacy_keras(cell: str) -> None:
    """Import tf_keras where a cell names it, so that its models are recognised from the first line on.

    Args:
        cell: The text of the cell that is about to run.
    """
    if "tf_keras" in sys.modules:
        return
    legacy = os.environ.get(LEGACY_SWITCH, "") in ("1", "True", "true") and "keras" in cell
    if (legacy or re.search(r"\btf_keras\b", cell)) and find_spec("tf_keras") is not None:
        import tf_keras  # noqa: F401


@contextmanager
def watching_legacy_models(runtime: Runtime, on_call: Callable[[], None]) -> Iterator[None]:
    """While entered, check each call of a tf_keras model before it begins.

    Args:
        runtime: The connected runtime.
        on_call: Called for each call that is let through.
    """
    legacy = sys.modules.get("tf_keras")
    if legacy is None or not hasattr(legacy, "Model"):
        yield
        return
    kind = legacy.Model
    originals = {name: vars(kind)[name] for name in METHODS if name in vars(kind)}
    inside: list[Any] = []

    def checked(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not inside:  # a validation inside a fit is the fit's own
                check_legacy_model(self, name, runtime)
                on_call()
            inside.append(self)
            try:
                return original(self, *args, **kwargs)
            finally:
                inside.pop()

        method.__name__, method.__doc__ = name, original.__doc__
        return method

    for name, original in originals.items():
        setattr(kind, name, checked(name, original))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(kind, name, original)


def check_legacy_model(model: Any, method: str, runtime: Runtime) -> None:
    """Raise ModelError unless a tf_keras model can train on the runtime as it is."""
    who = f"{type(model).__name__} is a tf_keras (Keras 2) model"
    if runtime.engine.name != "tensorflow":
        raise ModelError(
            f"{who}, which TensorFlow alone can train; the runtime trains with JAX, so {method} would run on this "
            "machine's CPU.",
            expected="the same model made with Keras 3 (import keras), or the TensorFlow backend in a new kernel.",
            type_next="import keras  # in place of tf_keras, and keras.Sequential, keras.layers, …",
        )
    strategy = getattr(runtime.engine, "strategy", None)
    if strategy is None or model.distribute_strategy is strategy:
        return
    raise ModelError(
        f"{who} and was made outside the {runtime.replicas} replicas. Unlike a Keras 3 model it cannot be moved.",
        expected="a model made and compiled in the scope of the replicas.",
        type_next="import colab_tpu_magic as tpu\nwith tpu.runtime.engine.scope():\n    model = …  # made and compiled here",
    )
