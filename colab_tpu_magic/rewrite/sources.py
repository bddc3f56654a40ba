"""The forms training data comes in, each as one of two: rows by index, or a stream of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError

Batch = tuple[Any, ...]


@dataclass(frozen=True)
class ArraySource:
    """Data with random access: every leaf is an array of ``rows`` rows.

    Attributes:
        tree: ``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)``; each part an array or a
            nested dict, list or tuple of arrays.
        rows: Rows in every array.
        dtypes: Target dtype of each flattened leaf, or None to leave it.
    """

    tree: Batch
    rows: int
    dtypes: tuple[np.dtype | None, ...] = ()

    def take(self, rows: Any) -> Batch:
        """Return the rows of a slice or an index array as one batch, cast where a dtype is set."""
        import keras

        from .gather import Gathered

        if not isinstance(rows, slice):
            return next(Gathered(self, iter([rows])))
        return cast(keras.tree.map_structure(lambda leaf: leaf[rows], self.tree), self.dtypes)

    @property
    def example(self) -> Batch:
        """The first row as a batch of one."""
        return self.take(slice(0, 1))


@dataclass(frozen=True)
class StreamSource:
    """Data that comes as batches, in an order of its own.

    Attributes:
        form: What it is, for people: ``"tf.data.Dataset"``.
        open: Returns a fresh iterator over batches (tuples like `ArraySource.tree`).
        example: The first batch.
        batch_size: Rows in the first batch.
        batches: Batches in one pass, or None when unknown.
        infinite: Whether a pass never ends.
        once: Whether only one pass can be made (a Python generator).
        dtypes: Target dtype of each flattened leaf, or None to leave it.
    """

    form: str
    open: Callable[[], Iterator[Batch]]
    example: Batch
    batch_size: int
    batches: int | None = None
    infinite: bool = False
    once: bool = False
    dtypes: tuple[np.dtype | None, ...] = ()

    def passes(self, forever: bool) -> Iterator[Batch]:
        """Yield batches of one pass, or of pass after pass."""
        while True:
            seen = False
            for batch in self.open():
                seen = True
                yield cast(batch, self.dtypes)
            if not forever or self.once:
                return
            if not seen:
                raise DataError(f"The {self.form} gave no batch at all.", expected="at least one batch in every pass.")


Source = ArraySource | StreamSource


def cast(batch: Batch, dtypes: tuple[np.dtype | None, ...]) -> Batch:
    """Return a batch with its flattened leaves cast to the given dtypes."""
    if not any(dtypes):
        return batch
    import keras

    leaves = keras.tree.flatten(batch)
    leaves = [leaf if d is None else leaf.astype(d, copy=False) for leaf, d in zip(leaves, dtypes, strict=True)]
    return keras.tree.pack_sequence_as(batch, leaves)


def rows_of(batch: Batch) -> int:
    """Return the number of rows of a batch: the first axis of its first array."""
    import keras

    return int(keras.tree.flatten(batch)[0].shape[0])


def pack(x: Any, y: Any = None, sample_weight: Any = None) -> Batch:
    """Return ``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)``, as Keras packs a batch."""
    if sample_weight is not None:
        return (x, y, sample_weight) if y is not None else (x, np.zeros((rows_of((x,)),), "float32"), sample_weight)
    return (x,) if y is None else (x, y)


def as_arrays(part: Any, name: str) -> Any:
    """Return a nested structure of NumPy arrays for one of x, y and sample_weight.

    Raises:
        DataError: For strings, ragged or sparse data, scalars and objects.
    """
    import keras

    if part is None:
        return None
    if isinstance(part, list | tuple) and any(np.isscalar(leaf) for leaf in keras.tree.flatten(part)):
        part = np.asarray(part)
    return keras.tree.map_structure(lambda leaf: _as_array(leaf, name), part)


def _as_array(leaf: Any, name: str) -> np.ndarray:
    kind = type(leaf).__name__
    if isinstance(leaf, np.ndarray):
        array = leaf
    elif hasattr(leaf, "toarray"):
        raise DataError(
            f"{name} is sparse ({kind}).",
            expected="a dense array: a TPU has no sparse arrays.",
            type_next=f"{name}.toarray()",
        )
    elif "Ragged" in kind:
        raise DataError(f"{name} is ragged.", expected="rows of one length.", type_next=f"{name} = {name}.to_tensor()")
    elif hasattr(leaf, "to_numpy"):
        array = leaf.to_numpy()
    elif hasattr(leaf, "__array__") or isinstance(leaf, list):
        array = np.asarray(leaf)
    else:
        raise DataError(
            f"{name} is a {kind}.",
            expected="NumPy arrays (alone, or in a dict or list), a tf.data.Dataset, a keras.utils.PyDataset or a generator.",
        )
    if array.dtype.kind in "USO":
        raise _no_numbers(array, name)
    if array.ndim == 0:
        raise DataError(f"{name} is a single number.", expected="an array whose first axis is the rows.")
    return array


def _no_numbers(array: np.ndarray, name: str) -> DataError:
    """Return what to say of text and objects: which numbers to make of them, and how."""
    what = f"{name} holds text or Python objects (dtype {array.dtype})."
    first = array.reshape(-1)[0] if array.size else ""
    if not isinstance(first, str | bytes):
        return DataError(what, "one array of numbers.", f'{name} = numpy.asarray({name}, "float32")')
    if name == "y":
        labels = "numpy.unique(y, return_inverse=True)[1]"
        return DataError(what, "class numbers from 0: a TPU has no strings.", f"y = {labels}")
    return DataError(
        what,
        "numbers: a TPU has no strings. Make them before the fit, outside the model.",
        "vectorize = keras.layers.TextVectorization(output_sequence_length=100); vectorize.adapt(x); x = vectorize(x)",
    )


def array_source(x: Any, y: Any = None, sample_weight: Any = None, class_weight: dict | None = None) -> ArraySource:
    """Check arrays and return them as a source.

    Raises:
        DataError: When a part is empty, has another number of rows, or holds text.
    """
    import keras

    x, y, sample_weight = as_arrays(x, "x"), as_arrays(y, "y"), as_arrays(sample_weight, "sample_weight")
    if class_weight is not None:
        if sample_weight is not None:
            raise DataError("Both class_weight and sample_weight were given.", expected="one of the two, as in Keras.")
        sample_weight = class_weights(y, class_weight)
    counts = {}
    for name, part in (("x", x), ("y", y), ("sample_weight", sample_weight)):
        for leaf in keras.tree.flatten(part) if part is not None else []:
            counts[len(leaf)] = name
    if not counts:
        raise DataError("There is no data: x is empty.", expected="model.fit(x, y, ...)")
    if len(counts) > 1:
        found = ", ".join(f"{name} has {rows:,} rows" for rows, name in counts.items())
        raise DataError(f"The data does not match: {found}.", expected="as many rows in y (and weights) as in x.")
    rows = next(iter(counts))
    if rows == 0:
        raise DataError("The data has no rows.", expected="at least one row.")
    return ArraySource(pack(x, y, sample_weight), rows)


def class_weights(y: Any, class_weight: dict) -> np.ndarray:
    """Return one weight per row from the class of each row.

    Args:
        y: Integer labels ``(rows,)`` or ``(rows, 1)``, or one-hot ``(rows, classes)``.
        class_weight: Class index to weight; a class that is missing weighs 1.
    """
    if not isinstance(y, np.ndarray):
        raise DataError(
            "class_weight needs a single array of labels.", expected="one output, or sample_weight instead."
        )
    labels = y.argmax(axis=-1) if y.ndim > 1 and y.shape[-1] > 1 else y.reshape(len(y), -1)[:, 0]
    weights = np.ones(len(y), "float32")
    for label, weight in class_weight.items():
        weights[labels == label] = weight
    return weights
