"""Say in one message why a step could not be traced."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import DataError, ModelError, TpuMagicError

MOST_CHARACTERS = 200


@contextmanager
def told(model: Any, specs: tuple[Any, Any, Any]) -> Iterator[None]:
    """Turn what building or tracing raises into one message."""
    try:
        yield
    except TpuMagicError:
        raise
    except Exception as error:  # whatever a layer, a loss or the user's own step raises
        raise _of_shapes(model, specs, error) from error


def _of_shapes(model: Any, specs: tuple[Any, Any, Any], error: Exception) -> TpuMagicError:
    import keras

    have = [tuple(one.shape)[1:] for one in keras.tree.flatten(specs[0])]
    want = [tuple(one.shape)[1:] for one in getattr(model, "inputs", None) or []]
    said = first_line(error)
    if want and not _match(have, want):
        return DataError(
            f"x has rows of shape {_text(have)}, and the model takes {_text(want)}.",
            expected="data whose shape is that of the model's input.",
            type_next=f"keras.Input({have[0]})" if len(have) == len(want) == 1 else "model.summary()",
        )
    y = [tuple(one.shape)[1:] for one in keras.tree.flatten(specs[1])] if specs[1] is not None else []
    outputs = [tuple(one.shape)[1:] for one in keras.tree.flatten(getattr(model, "outputs", None) or [])]
    if "shape" in str(error).lower() or isinstance(error, ValueError):
        given = f" Rows of x: {_text(have)}; of y: {_text(y)}." if y else f" Rows of x: {_text(have)}."
        of_output = f" The model's output: {_text(outputs)}." if outputs else ""
        return DataError(
            f"The training step cannot be made for this data: {said}.{given}{of_output}",
            expected="data, model and loss that fit together.",
            type_next="%tpu_check model x_train y_train",
        )
    return ModelError(
        f"The training step cannot be traced: {type(error).__name__}: {said}.",
        expected="a step that model.fit can run.",
    )


def _match(have: list[tuple[Any, ...]], want: list[tuple[Any, ...]]) -> bool:
    return len(have) == len(want) and all(
        len(a) == len(b) and all(q is None or p == q for p, q in zip(a, b, strict=True))
        for a, b in zip(have, want, strict=True)
    )


def _text(shapes: list[tuple[Any, ...]]) -> str:
    return " and ".join(str(shape) if shape else "one number" for shape in shapes)


def first_line(error: BaseException) -> str:
    """Return the first line of a message that says something, without colours and the full stop."""
    if str(error).startswith("Unable to automatically build") and error.__context__ is not None:
        error = error.__context__  # what went wrong, which Keras hides behind advice of its own
    text = re.sub(r"\x1b\[\d*m", "", str(error))
    lines = [line.strip() for line in text.splitlines()]
    said = next((line for line in lines if line and not line.startswith("Exception encountered")), type(error).__name__)
    said = said.rstrip(".")
    return said if len(said) <= MOST_CHARACTERS else f"{said[:MOST_CHARACTERS]}…"
