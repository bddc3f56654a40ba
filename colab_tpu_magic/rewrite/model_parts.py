"""Look a model over for what a runtime cannot move, and refuse it by name with the line to change.

Private to Keras: ``Layer._flatten_layers``. Tried on keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..backends.variables import optimizers_of
from ..errors import ModelError
from .head import OF_INTEGERS, CannotCut, find_head, is_one_of, text_layers_of, waits_for_data

if TYPE_CHECKING:
    from ..backends.base import Runtime


def layers_of(model: Any) -> list[Any]:
    """Return every layer of a model, those inside models and wrappers too."""
    return list(model._flatten_layers(include_self=False))


def fixed_batch_size(model: Any) -> int | None:
    """Return the batch size that a model was made for, as a stateful RNN is, or None when any will do.

    A Sequential that Keras built from its first batch has that batch's size on its inputs, which binds nothing.
    """
    import keras

    if isinstance(model, keras.Sequential) and not any(getattr(layer, "stateful", False) for layer in layers_of(model)):
        return None
    for spec in keras.tree.flatten(getattr(model, "inputs", None) or ()):
        shape = getattr(spec, "shape", None)
        if shape and shape[0] is not None:
            return int(shape[0])
    return None


def refuse_what_cannot_move(model: Any, runtime: Runtime, replicas: int, cut: bool = True) -> None:
    """Raise ModelError for a model or an optimizer that this runtime cannot train.

    Args:
        model: The compiled model.
        runtime: The connected runtime.
        replicas: Devices that will run the step.
        cut: Whether the layers of text that it begins with may run in the data pipeline.
    """
    refuse_text_in_the_step(model, runtime, replicas, cut)
    size = fixed_batch_size(model)
    if size is not None and replicas > 1:
        _check_fixed_batch(size, runtime, replicas)
    if replicas > 1 and runtime.engine.name == "tensorflow":
        for optimizer in optimizers_of(model):
            _refuse_conditional(optimizer)


def refuse_text_in_the_step(model: Any, runtime: Runtime, replicas: int, cut: bool) -> None:
    """Raise ModelError for layers of text that stay in the step, where the step computes with numbers only."""
    needed = text_layers_of(model)
    if not needed or (cut and waits_for_data(model)):
        return
    layer, reason = needed[0], "--no text-layers keeps it in the model"
    if cut:
        try:
            find_head(model)
            return
        except CannotCut as why:
            layer, reason = why.layer, why.reason
    if runtime.engine.name == "tensorflow" and (replicas == 1 or all(is_one_of(one, OF_INTEGERS) for one in needed)):
        return  # as plain Keras: the step runs there, on one device or in TensorFlow's tables of integers
    kind = type(layer).__name__
    raise ModelError(
        f"The layer {layer.name!r} ({kind}) works on strings or in tables on the host, and a TPU or a replica computes "
        f"with numbers only. It cannot be taken out of the model here: {reason}.",
        expected="text turned into numbers in the data pipeline, on the host, and a model that begins after it.",
        type_next="dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).map(lambda text, label: "
        f"({_variable_of(layer)}(text), label))",
    )


def _variable_of(layer: Any) -> str:
    """Return what a layer may be called in the user's code: its name where that was given, or a word for its kind."""
    given = not re.fullmatch(r"[a-z_]+(_\d+)?", layer.name) or not layer.name.startswith(_own_name(layer))
    return layer.name if given and layer.name.isidentifier() else "words"


def _own_name(layer: Any) -> str:
    """Return the name that Keras gives a layer of this kind: ``"text_vectorization"``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(layer).__name__).lower()


def _check_fixed_batch(size: int, runtime: Runtime, replicas: int) -> None:
    if runtime.engine.name == "tensorflow":
        raise ModelError(
            f"The model was made for batches of exactly {size} rows (a stateful RNN is), and each of the {replicas} "
            f"TensorFlow replicas gets {size / replicas:g} of them.",
            expected="one device, or keras.Input without batch_size.",
            type_next="%%tpu_fit --no scope",
        )
    if size % replicas:
        raise ModelError(
            f"The model was made for batches of exactly {size} rows, which do not divide over {replicas} replicas.",
            expected=f"a multiple of {replicas}, or one device with %%tpu_fit --no scope.",
            type_next=f"keras.Input(..., batch_size={-(-size // replicas) * replicas})",
        )


def _refuse_conditional(optimizer: Any) -> None:
    """Refuse what Keras puts into a branch of the graph, in which TensorFlow's replicas cannot meet."""
    name = type(optimizer).__name__
    for setting, meaning in _conditional_settings(optimizer):
        raise ModelError(
            f"{name}({setting}) cannot train on several TensorFlow replicas: {meaning} happens in a branch of the "
            "step, and replicas cannot exchange gradients or weights inside one (merge_call in tf.cond).",
            expected="the JAX backend, where it works; or one device; or an optimizer without it.",
            type_next="%%tpu_fit --no scope",
        )


def _conditional_settings(optimizer: Any) -> Iterator[tuple[str, str]]:
    steps = getattr(optimizer, "gradient_accumulation_steps", None)
    if steps:
        yield f"gradient_accumulation_steps={steps}", "the update every few steps"
    often = getattr(optimizer, "ema_overwrite_frequency", None)
    if getattr(optimizer, "use_ema", False) and often:
        yield f"ema_overwrite_frequency={often}", "writing the averaged weights over the weights"
