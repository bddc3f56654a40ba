"""The features of TFRecords in the user's short form, and what TensorFlow wants of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError

STORED = {"int64": "int64", "float32": "float32", "int32": "int64", "bool": "int64", "float16": "float32"}
KINDS = {"int64": "int64", "float32": "float32", "string": "bytes"}


@dataclass(frozen=True)
class Feature:
    """One feature of a record.

    Attributes:
        parser: What ``tf.io.parse_example`` takes.
        raw: The dtype of raw bytes, with the shape they make; None for numbers that are stored as such.
        dtype: What numbers are cast to after parsing, or None.
    """

    parser: Any
    raw: tuple[str, tuple[int, ...]] | None = None
    dtype: str | None = None

    @property
    def ragged(self) -> bool:
        """Whether rows may have different lengths."""
        return type(self.parser).__name__ == "RaggedFeature"

    @property
    def kind(self) -> str:
        """What a record has to hold: ``int64``, ``float32`` or ``bytes``."""
        return KINDS.get(getattr(self.parser, "dtype", None) and self.parser.dtype.name or "", "")

    def finished(self, parsed: Any) -> Any:
        """Return a parsed batch in its own dtype and shape."""
        import tensorflow as tf

        if self.raw is not None:
            dtype, shape = self.raw
            return tf.reshape(
                tf.io.decode_raw(parsed, tf.as_dtype(dtype), fixed_length=_bytes(dtype, shape)), (-1, *shape)
            )
        return parsed if self.dtype is None else tf.cast(parsed, self.dtype)


def read_features(features: Mapping[str, Any]) -> dict[str, Feature]:
    """Return the features by name.

    Args:
        features: Name to a dtype (``"int64"``), to a dtype and a shape (``("float32", (20,))``; None for
            rows of varying length), to ``("uint8", shape)`` for raw bytes, or to what ``tf.io`` has
            (``tf.io.FixedLenFeature([], tf.int64)``).

    Raises:
        DataError: For anything else.
    """
    if not isinstance(features, Mapping) or not features:
        raise _unknown("features", features)
    return {name: _read(name, one) for name, one in features.items()}


def suggestion(found: Mapping[str, tuple[str, int]]) -> str:
    """Return the features that fit a record, to type.

    Example:
        >>> suggestion({"x": ("float32", 20), "y": ("int64", 1), "image": ("bytes", 1)})
        '{"x": ("float32", (20,)), "y": "int64", "image": "string"}'
    """
    parts = []
    for name, (kind, count) in found.items():
        kind = "string" if kind == "bytes" else kind
        parts.append(f'"{name}": "{kind}"' if count == 1 else f'"{name}": ("{kind}", ({count},))')
    return "{" + ", ".join(parts) + "}"


def _read(name: str, given: Any) -> Feature:
    import tensorflow as tf

    if isinstance(given, tf.io.VarLenFeature):
        return Feature(tf.io.RaggedFeature(given.dtype))
    if type(given).__module__.startswith("tensorflow") and hasattr(given, "dtype") and not isinstance(given, tf.DType):
        return Feature(given)
    dtype, shape = given if isinstance(given, tuple) and len(given) == 2 else (given, ())
    try:
        dtype = "string" if dtype in (bytes, str, "bytes") else tf.as_dtype(dtype).name
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
    except TypeError:
        raise _unknown(name, given) from None
    if dtype == "string":
        return Feature(tf.io.FixedLenFeature(shape, tf.string))
    if dtype not in STORED:
        if any(one is None for one in shape) or not np.dtype(dtype).itemsize:
            raise _unknown(name, given)
        return Feature(tf.io.FixedLenFeature((), tf.string), raw=(dtype, shape))
    stored = tf.as_dtype(STORED[dtype])
    cast = dtype if STORED[dtype] != dtype else None
    if shape == (None,):
        return Feature(tf.io.RaggedFeature(stored), dtype=cast)
    if any(one is None for one in shape):
        raise _unknown(name, given)
    return Feature(tf.io.FixedLenFeature(shape, stored), dtype=cast)


def _bytes(dtype: str, shape: tuple[int, ...]) -> int:
    return int(np.dtype(dtype).itemsize * np.prod(shape, dtype=np.int64))


def _unknown(name: str, given: Any) -> DataError:
    return DataError(
        f"features: {name!r} is {given!r}.",
        expected='a dtype, (dtype, shape), or a feature of tf.io; ("int64", (None,)) for rows of varying length.',
        type_next='features={"x": ("float32", (20,)), "y": "int64"}',
    )
