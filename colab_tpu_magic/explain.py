"""Known errors of TensorFlow, Keras, JAX and libtpu, and what each means."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .errors import ConnectError, DataError, ModelError, TpuMagicError


@dataclass(frozen=True)
class Known:
    """One foreign error text and its explanation.

    Attributes:
        pattern: Regular expression searched in ``"TypeName: message"``.
        explanation: Makes the error to show instead.
        source: Where the text was met.
    """

    pattern: str
    explanation: Callable[[BaseException], TpuMagicError]
    source: str


CATALOGUE = (
    Known(
        r"Could not interpret optimizer identifier: .*(tensorflow\.python\.training|tensorflow\.compat\.v1|train\.\w+Optimizer)",
        lambda error: ModelError(
            "The optimizer is a TensorFlow 1 one (tf.train or tf.compat.v1.train).",
            expected="a Keras optimizer, which trains on every backend.",
            type_next='model.compile(optimizer="adam", ...)',
        ),
        "keras 3.15, November 2026",
    ),
    Known(
        r"module 'tensorflow.*' has no attribute '(contrib|placeholder|Session)'",
        lambda error: ModelError(
            "The cell uses TensorFlow 1 (tf.contrib, sessions or placeholders), which is gone.",
            expected="Keras: keras_to_tpu_model is not needed any more, %%tpu_fit does its work.",
            type_next="model.compile(...); model.fit(x, y) inside %%tpu_fit",
        ),
        "tensorflow 2.21, November 2026; the 2018 article",
    ),
    Known(
        r"module 'tensorflow.*train' has no attribute '\w*Optimizer'",
        lambda error: ModelError(
            "tf.train optimizers are TensorFlow 1 and are gone.",
            expected="a Keras optimizer.",
            type_next='model.compile(optimizer="adam", ...)',
        ),
        "tensorflow 2.21, November 2026; the 2018 article",
    ),
    Known(
        r"must have the same shape up until the last dimension|sparse.*labels.*same shape",
        lambda error: ModelError(
            "The labels do not fit the loss: sparse_categorical_crossentropy takes one class number per row, not one-hot rows.",
            expected="class numbers with the sparse loss, or one-hot rows with the other.",
            type_next='model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])',
        ),
        "keras 3.15 on JAX, November 2026",
    ),
    Known(
        r"Invalid input shape for input|is incompatible with the layer: expected (axis|shape|min_ndim)",
        lambda error: DataError(
            f"x does not have the shape that the model expects. Keras says: {_first_sentence(error)}",
            expected="x of shape (rows, *input shape).",
            type_next="print(x.shape, model.input_shape)",
        ),
        "keras 3.15 on both backends, November 2026",
    ),
    Known(
        r"RESOURCE_EXHAUSTED|Out of memory",
        lambda error: ModelError(
            "The training step does not fit in the device's memory.",
            expected="a smaller batch, or half the activations.",
            type_next="%%tpu_fit --batch-size 256 --precision bfloat16",
        ),
        "colabtools#1470; jax 0.10.2, November 2026",
    ),
    Known(
        r"already in use|TPU is already|libtpu.*lockfile",
        lambda error: ConnectError(
            "Another process holds the TPU.",
            expected="one process at a time.",
            type_next="%tpu_connect, which names it",
        ),
        "jax#10192",
    ),
    Known(
        r"StringLookup|string.*(not supported|is not in the list of allowed values)|DecodeJpeg",
        lambda error: DataError(
            "A layer works on strings, and a TPU has none.",
            expected="TextVectorization, StringLookup and image decoding outside the model, in the data.",
            type_next="x = vectorize(texts)",
        ),
        "keras 3.15 on both backends, November 2026",
    ),
)


def _first_sentence(error: BaseException) -> str:
    return str(error).strip().splitlines()[0][:300]


def explain(error: BaseException) -> TpuMagicError | None:
    """Return our explanation of a foreign error, or None when it is not known.

    Example:
        >>> print(explain(AttributeError("module 'tensorflow' has no attribute 'contrib'")).what)
        The cell uses TensorFlow 1 (tf.contrib, sessions or placeholders), which is gone.
    """
    if isinstance(error, TpuMagicError):
        return error
    text = f"{type(error).__name__}: {error}"
    for known in CATALOGUE:
        if re.search(known.pattern, text, re.DOTALL):
            return known.explanation(error)
    return None
