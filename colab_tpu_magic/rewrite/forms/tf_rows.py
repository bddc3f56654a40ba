"""A tf.data.Dataset of single rows, told from one of batches, and batched in bulk."""

from __future__ import annotations

from typing import Any

from ..buckets import Padding
from ..done import Done

WHY = (
    "Keras takes the first axis of what a dataset gives for the batch, so single rows fail or are misread. "
    "They are batched in bulk by tf.data, at the batch size of the training."
)
SINGLE = Done("input-pipeline", "single rows", "rows batched in bulk", WHY, "dataset.batch(32)")


def gives_single_rows(spec: Any, model: Any, tensorflow: Any) -> bool:
    """Return whether a dataset's elements are single rows.

    They are when a part of them has no axis at all, when their first axes differ in length,
    or when the inputs fit the model's with the batch axis left out.

    Args:
        spec: What the dataset gives, every rank known.
        model: The Keras model, or None.
        tensorflow: The imported module.
    """
    shapes = [leaf.shape.as_list() for leaf in tensorflow.nest.flatten(spec)]
    if any(not shape for shape in shapes):
        return True
    if len({shape[0] for shape in shapes if shape[0] is not None}) > 1:
        return True
    inputs = tensorflow.nest.flatten(spec[0] if isinstance(spec, tuple) else spec)
    wanted = _input_shapes(model)
    if wanted is None or len(wanted) != len(inputs):
        return False
    return all(_is_one_row(leaf.shape.as_list(), shape) for leaf, shape in zip(inputs, wanted, strict=True))


def _input_shapes(model: Any) -> list[tuple[int | None, ...]] | None:
    import keras

    inputs = getattr(model, "inputs", None)
    return None if not inputs else [tuple(one.shape) for one in keras.tree.flatten(inputs)]


def _is_one_row(shape: list[int | None], wanted: tuple[int | None, ...]) -> bool:
    """Return whether a shape is that of an input without its batch axis; a batch of numbers for ``(1,)`` is not."""
    if len(shape) != len(wanted) - 1:
        return False
    return all(need is None or have == need for have, need in zip(shape, wanted[1:], strict=True))


def batched(rows: Any, size: int, padding: Padding, tensorflow: Any, full: bool = False) -> Any:
    """Return single rows as batches; rows of varying length get that of the longest in their batch.

    Args:
        rows: A dataset of single rows, every rank known.
        size: Rows in a batch.
        padding: What to fill short inputs with.
        tensorflow: The imported module.
        full: Leave a smaller last batch out, for a dataset that never ends.
    """
    spec = rows.element_spec
    leaves = tensorflow.nest.flatten(spec)
    if all(leaf.shape.is_fully_defined() for leaf in leaves):
        return rows.batch(size, drop_remainder=full)
    inputs = len(tensorflow.nest.flatten(spec[0] if isinstance(spec, tuple) else spec))
    fillers = [tensorflow.cast(padding.value if at < inputs else 0, leaf.dtype) for at, leaf in enumerate(leaves)]
    return rows.padded_batch(size, padding_values=tensorflow.nest.pack_sequence_as(spec, fillers), drop_remainder=full)


def free_axes(spec: Any, tensorflow: Any) -> tuple[tuple[int, ...], ...]:
    """Return, of each part of a batch, the axes behind the first whose length is not fixed; empty when all are."""
    axes = tuple(
        tuple(at for at, length in enumerate(leaf.shape.as_list()) if at and length is None)
        for leaf in tensorflow.nest.flatten(spec)
    )
    return axes if any(axes) else ()
