"""The axes that may vary in data that does not say so itself: those that its model leaves open, or that were seen to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from ..errors import DataError

Axes = tuple[int, ...]
Shape = tuple[int | None, ...]
Batch = tuple[Any, ...]


def open_axes(model: Any, batch: Batch) -> tuple[Axes | None, ...]:
    """Return, of each flattened array of a batch, the axes behind the first that the model leaves open.

    Those of targets and weights are those of the model's outputs.

    Args:
        model: A Keras model, or None for one that nothing is known of and whose data is taken as fixed.
        batch: ``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)``, arrays.

    Returns:
        For each array its axes; None for one whose lengths the model does not tell: of a model that has no Input, or a
        target of another length than the output.

    Example:
        >>> import keras, numpy as np
        >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(1)])
        >>> open_axes(model, (np.ones((2, 5, 3)), np.ones((2, 1))))
        ((1,), ())
    """
    import keras

    leaves = [keras.tree.flatten(part) for part in batch]
    if model is None:
        return tuple(() for part in leaves for _ in part)
    inputs = _shapes_for(batch[0], getattr(model, "inputs", None), getattr(model, "input_names", None))
    if inputs is None or _built_from_data(model):
        return tuple(None if leaf.ndim > 1 else () for part in leaves for leaf in part)
    axes: list[Axes | None] = [_open(leaf, shape) for leaf, shape in zip(leaves[0], inputs, strict=True)]
    for part, arrays in zip(batch[1:], leaves[1:], strict=True):
        outputs = _shapes_for(part, getattr(model, "outputs", None), getattr(model, "output_names", None))
        for leaf, shape in zip(arrays, outputs or repeat(None, len(arrays)), strict=True):
            told = leaf.ndim == 1 or (shape is not None and _is_like(leaf, shape))
            axes.append(_open(leaf, shape or ()) if told else None)
    return tuple(axes)


def settled(axes: Sequence[Axes | None], batches: Sequence[Batch]) -> tuple[Axes, ...]:
    """Return the axes of every array: where the model does not tell, those in which some batches were seen to differ."""
    import keras

    flat = [keras.tree.flatten(batch) for batch in batches]
    found = tuple(
        tuple(axis for axis in range(1, leaves[0].ndim) if len({leaf.shape[axis : axis + 1] for leaf in leaves}) > 1)
        if own is None
        else own
        for own, leaves in zip(axes, zip(*flat, strict=True), strict=True)
    )
    return found if any(found) else ()


def checked(batches: Iterable[Batch], example: Batch, axes: Sequence[Axes | None], form: str) -> Iterator[Batch]:
    """Yield batches; those that differ from the first in an axis that the model fixes are refused.

    Raises:
        DataError: For such a batch.
    """
    import keras

    def fixed(batch: Batch) -> list[Any]:
        return [
            None if own is None else tuple(n for axis, n in enumerate(leaf.shape) if axis and axis not in own)
            for leaf, own in zip(keras.tree.flatten(batch), axes, strict=True)
        ]

    names = [name for name, part in zip("xyw", example, strict=False) for _ in keras.tree.flatten(part)]
    first, wanted = keras.tree.flatten(example), fixed(example)
    for batch in batches:
        found = fixed(batch)
        if found != wanted:
            at = next(at for at, (have, want) in enumerate(zip(found, wanted, strict=True)) if have != want)
            shape, before = keras.tree.flatten(batch)[at].shape, first[at].shape
            raise _varies("sample_weight" if names[at] == "w" else names[at], form, shape, before)
        yield batch


def _varies(name: str, form: str, shape: Any, before: Any) -> DataError:
    said = f"The batches of the {form} differ in shape: {name} is {before} in the first and {shape} in another"
    if len(shape) != len(before):
        return DataError(f"{said}.", expected="as many axes in every batch.")
    rows = tuple(None if one != other else one for one, other in zip(shape[1:], before[1:], strict=True))
    if name != "x":
        return DataError(
            f"{said}, and the model's output has one length.",
            expected=f"{name} of one shape in every batch, or a model whose output varies with it.",
            type_next=f'{name} = keras.utils.pad_sequences({name}, maxlen={max(shape[1], before[1])}, padding="post")',
        )
    return DataError(
        f"{said}, and the model's Input fixes that length.",
        expected="an Input that leaves it open (None), or batches of one shape.",
        type_next=f"keras.Input({rows})",
    )


def _built_from_data(model: Any) -> bool:
    """Return whether Keras built a Sequential from its first batch: the shapes are that batch's, and bind nothing."""
    import keras

    if not isinstance(model, keras.Sequential) or model.inputs[0].shape[0] is None:
        return False
    return not any(getattr(layer, "stateful", False) for layer in model.layers)


def _shapes_for(part: Any, tensors: Any, names: Sequence[str] | None) -> list[Shape] | None:
    """Return the shape that the model has for each flattened array of x or y, None where they are not the model's."""
    import keras

    if not tensors:
        return None
    shapes = [tuple(tensor.shape) for tensor in keras.tree.flatten(tensors)]
    count = len(keras.tree.flatten(part))
    if isinstance(part, dict) and len(part) == count:
        known = dict(zip(names or [tensor.name for tensor in tensors], shapes, strict=False))
        if all(key in known for key in part):
            return [known[key] for key in keras.tree.flatten({key: key for key in part})]
    return shapes if len(shapes) == count else None


def _open(leaf: Any, shape: Shape) -> Axes:
    return tuple(axis for axis in range(1, min(leaf.ndim, len(shape))) if shape[axis] is None)


def _is_like(leaf: Any, shape: Shape) -> bool:
    """Return whether a target's axes are those of an output, or one number where the output has several."""
    return all(have == 1 or want is None or have == want for have, want in zip(leaf.shape[1:], shape[1:], strict=False))
