"""Say what one batch of the user's data looks like to the step: shapes and dtypes, no rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DataError, ModelError
from ...rewrite.sources import ArraySource, StreamSource
from ...rewrite.streams import read_data

SHAPES_ALONE = ("KerasTensor", "ShapeDtypeStruct", "TensorSpec")


def batch_specs(
    model: Any, x: Any, y: Any, sample_weight: Any, batch_size: int, devices: int, class_weight: Any = None
) -> tuple[Any, Any, Any]:
    """Return ``(x, y, sample_weight)`` of one global batch as KerasTensors, None for what there is not.

    Args:
        model: The model that gets the batch.
        x: What `fit` takes, a source that was read already, or shapes alone: anything with a ``shape`` whose first
            axis is the rows, and a ``dtype`` (`keras.KerasTensor`, `jax.ShapeDtypeStruct`, `tf.TensorSpec`).
        y: Targets, likewise; None with a dataset.
        sample_weight: One weight per row, likewise, or None.
        batch_size: Rows in the global batch.
        devices: Devices that the rows are divided over.
        class_weight: As in `fit`.

    Raises:
        DataError: For text, for data that cannot be used, for missing targets, and for rows that do not divide.
    """
    import keras

    if batch_size < 1 or batch_size % devices:
        raise DataError(
            f"A batch of {batch_size:,} rows does not divide over {devices} devices.",
            expected=f"a multiple of {devices}.",
            type_next=f"batch_size={max(1, -(-batch_size // devices)) * devices}",
        )
    arrays = False
    if _has_shapes_alone(x):
        parts = (x, y, sample_weight)
        dtypes: Any = ()
        if class_weight is not None and sample_weight is None:
            parts = (x, y, keras.KerasTensor((None,), "float32"))
    else:
        source = x if isinstance(x, ArraySource | StreamSource) else _read(model, x, y, sample_weight, class_weight)
        parts = source.tree if isinstance(source, ArraySource) else source.example
        dtypes, arrays = source.dtypes, isinstance(source, ArraySource)
    _check_targets(model, parts)
    parts = (*parts, None, None)[:3]
    leaves = keras.tree.flatten(parts)
    dtypes = list(dtypes) + [None] * (len(leaves) - len(dtypes))
    specs = [_spec(leaf, dtype, batch_size, arrays) for leaf, dtype in zip(leaves, dtypes, strict=True)]
    return keras.tree.pack_sequence_as(parts, specs)


def _has_shapes_alone(x: Any) -> bool:
    import keras

    if isinstance(x, ArraySource | StreamSource):
        return False
    leaves = keras.tree.flatten(x)
    return bool(leaves) and all(type(leaf).__name__ in SHAPES_ALONE for leaf in leaves)


def _read(model: Any, x: Any, y: Any, sample_weight: Any, class_weight: Any) -> Any:
    source = read_data(x, y, sample_weight, class_weight, model=model, ahead=False, most=0)
    if isinstance(source, StreamSource) and source.once:
        raise DataError(
            f"A {source.form} can be read only once, and a plan would take its first batch.",
            expected="arrays, a dataset, or shapes alone.",
            type_next="keras.KerasTensor((None, 28, 28, 1), 'float32')",
        )
    return source


def _check_targets(model: Any, parts: tuple[Any, ...]) -> None:
    given = len(parts) > 1 and parts[1] is not None
    if given or getattr(model, "loss", None) is None:
        return
    raise DataError(
        "There is no y, and the model's loss compares its output with targets.",
        expected="x and y, or a dataset of (x, y).",
        type_next="%tpu_plan model x_train y_train",
    )


def _spec(leaf: Any, dtype: Any, rows: int, array: bool) -> Any:
    """Return one array's shape with `rows` rows, and the dtype in which the step gets it.

    Keras casts the floats of arrays to its own width, and leaves those of a dataset.
    """
    import keras

    if leaf is None:
        return None
    shape, dtype = tuple(leaf.shape), _name(leaf.dtype if dtype is None else dtype)
    if any(size is None for size in shape[1:]):
        raise DataError(
            f"The rows have a shape that is not fixed: {shape[1:]}.", expected="a number for every axis but the first."
        )
    if dtype in ("string", "str", "object"):
        raise DataError("The data holds text.", expected="numbers: a TPU has no strings.")
    if dtype == "float64" or (array and dtype.startswith("float")):
        dtype = keras.config.floatx()
    return keras.KerasTensor((rows, *shape[1:]), dtype)


def _name(dtype: Any) -> str:
    if isinstance(dtype, str):
        return dtype
    name = getattr(dtype, "name", None) or np.dtype(dtype).name
    return "string" if name.startswith(("str", "bytes", "object")) else name


def check_trainable(model: Any) -> None:
    """Raise ModelError for a model that has no training step yet."""
    if not getattr(model, "compiled", False):
        raise ModelError(
            "The model was never compiled, so it has no training step.",
            expected="a model with an optimizer and a loss.",
            type_next='model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")',
        )
    if model.optimizer is None and type(model).train_step.__module__.startswith("keras."):
        raise ModelError(
            "The model was compiled without an optimizer.", type_next='model.compile(optimizer="adam", loss=...)'
        )
