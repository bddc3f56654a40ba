"""The forms training data comes in, each as one of two: rows by index, or a stream of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError
from .arrays import Conversion, Rows, convert, part_of
from .arrays.integers import too_wide
from .arrays.uneven import check_arrays, check_objects, uneven_rows
from .buckets import Buckets, Lengths
from .done import Done

if TYPE_CHECKING:
    from .alike import Alike

Batch = tuple[Any, ...]
MOST_LISTED = 3


@dataclass(frozen=True)
class ArraySource:
    """Data with random access: every leaf is an array of ``rows`` rows.

    Attributes:
        tree: ``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)``; each part an array, or `Rows`,
            or a nested dict, list or tuple of them.
        rows: Rows in every array.
        dtypes: Target dtype of each flattened leaf, or None to leave it.
        conversions: What the user's data was where it was no array of numbers.
        alike: How a training groups its rows by length, or None.
    """

    tree: Batch
    rows: int
    dtypes: tuple[np.dtype | None, ...] = ()
    conversions: tuple[Conversion, ...] = ()
    alike: Alike | None = None

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

    def part(self, start: int, stop: int) -> ArraySource:
        """Return rows ``start`` to ``stop`` as a source, without a copy."""
        import keras

        tree = keras.tree.map_structure(lambda leaf: part_of(leaf, start, stop), self.tree)
        return replace(self, tree=tree, rows=stop - start)


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
        conversions: What the user's data was where it was no array of numbers.
        remark: Something about how it is read, for people, or "".
        rows: Rows in one pass, or None when unknown.
        sized: Returns an iterator over batches of a size chosen later, or None: see `forms.base.Stream`.
        lengths: The axes that may vary from batch to batch, or None when every length is fixed.
        buckets: What batches are padded to, or None to leave their lengths.
        done: What reading the form has changed.
    """

    form: str
    open: Callable[[], Iterator[Batch]]
    example: Batch
    batch_size: int
    batches: int | None = None
    infinite: bool = False
    once: bool = False
    dtypes: tuple[np.dtype | None, ...] = ()
    conversions: tuple[Conversion, ...] = ()
    remark: str = ""
    rows: int | None = None
    sized: Callable[[int, bool], Iterator[Batch]] | None = None
    lengths: Lengths | None = None
    buckets: Buckets | None = None
    done: tuple[Done, ...] = ()

    def first(self, batches: int) -> StreamSource:
        """Return a source whose passes end after a number of batches; of one that can be read once, each goes on."""
        known = batches if self.batches is None else min(batches, self.batches)
        return replace(self, open=lambda: islice(self.open(), batches), batches=known, infinite=False, sized=None)

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

    def of_size(self, batch_size: int, forever: bool, last: str) -> Iterator[Batch]:
        """Yield batches of one size, made by the form itself where it can; `last` is as in `batches.rebatch`."""
        from .batches import rebatch

        batches: Iterator[Batch]
        if self.sized is not None:
            batches = (cast(batch, self.dtypes) for batch in self.sized(batch_size, forever))
            if forever:
                return self.padded(batches)
        else:
            batches = self.passes(forever)
        join = None if self.lengths is None else (self.buckets or Buckets.of(self.lengths)).join
        return self.padded(rebatch(batches, batch_size, last, join))

    def padded(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield batches padded to their buckets, or as they are when there are none."""
        return batches if self.buckets is None else self.buckets.pad(batches)

    @property
    def free_axes(self) -> tuple[tuple[int, ...], ...]:
        """Of each flattened array, the axes that may differ from batch to batch; empty when none does."""
        return () if self.lengths is None else self.lengths.axes


Source = ArraySource | StreamSource


def cast(batch: Batch, dtypes: tuple[np.dtype | None, ...]) -> Batch:
    """Return a batch with its flattened leaves cast to the given dtypes."""
    if not any(dtypes):
        return batch
    import keras

    leaves = keras.tree.flatten(batch)
    leaves = [leaf if d is None else _cast(leaf, d) for leaf, d in zip(leaves, dtypes, strict=True)]
    return keras.tree.pack_sequence_as(batch, leaves)


def _cast(leaf: Any, dtype: np.dtype) -> Any:
    """Return an array in another dtype; integers that do not fit are refused, not cut."""
    if dtype == np.int32 and leaf.dtype.kind in "iu" and leaf.dtype.itemsize >= 4 and leaf.size:
        error = too_wide(int(leaf.min()), int(leaf.max()))
        if error is not None:
            raise error
    return leaf.astype(dtype, copy=False)


def rows_of(batch: Batch) -> int:
    """Return the number of rows of a batch: the first axis of its first array."""
    import keras

    return int(keras.tree.flatten(batch)[0].shape[0])


def pack(x: Any, y: Any = None, sample_weight: Any = None) -> Batch:
    """Return ``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)``, as Keras packs a batch."""
    if sample_weight is not None:
        return (x, y, sample_weight) if y is not None else (x, np.zeros((rows_of((x,)),), "float32"), sample_weight)
    return (x,) if y is None else (x, y)


def as_arrays(part: Any, name: str, conversions: list[Conversion] | None = None) -> Any:
    """Return a nested structure of NumPy arrays, or of `Rows`, for one of x, y and sample_weight.

    Args:
        part: What the user gave.
        name: ``"x"``, ``"y"`` or ``"sample_weight"``.
        conversions: Gets what had to be made of data that was no array of numbers.

    Raises:
        DataError: For strings, scalars, objects and rows of different lengths.
    """
    import keras

    if part is None:
        return None
    if isinstance(part, list | tuple) and any(np.isscalar(leaf) for leaf in keras.tree.flatten(part)):
        part = _of_numbers(part, name)
    check_arrays(part, name)

    def as_array(leaf: Any) -> Any:
        array, conversion = _as_array(leaf, name)
        if conversion is not None and conversions is not None:
            conversions.append(conversion)
        return array

    return keras.tree.map_structure(as_array, part)


def _of_numbers(part: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(part)
    except ValueError:
        raise uneven_rows(f"{name} is a list of lists of different lengths.", name, part) from None


def _as_array(leaf: Any, name: str) -> tuple[Any, Conversion | None]:
    read = convert(leaf, name)
    if read is None:
        raise _unknown(leaf, name)
    array, conversion = read
    if array.dtype.kind == "O":
        check_objects(array, name)
    if array.dtype.kind in "USO":
        raise _no_numbers(np.asarray(array[:1]) if isinstance(array, Rows) else array, name)
    if array.ndim == 0:
        raise DataError(f"{name} is a single number.", expected="an array whose first axis is the rows.")
    return array, conversion


def _unknown(leaf: Any, name: str) -> DataError:
    """Return what to say of an object that holds no data that we can read."""
    kind = type(leaf).__name__
    if leaf is None:
        return DataError(f"{name} has a part that is None.", expected="an array in every place.")
    if isinstance(leaf, type):
        return DataError(f"{name} is the class {leaf.__name__}.", "an object of it.", f"{leaf.__name__}(...)")
    if hasattr(leaf, "flow") and hasattr(leaf, "flow_from_directory"):
        return DataError(f"{name} is an {kind}, which has no data yet.", "what it flows from.", "generator.flow(x, y)")
    if hasattr(leaf, "__getitem__") and hasattr(leaf, "__len__"):
        return DataError(
            f"{name} is a {kind}, which may give rows or batches.",
            expected="a class that says which: keras.utils.PyDataset gives batches, a torch DataLoader makes them of rows.",
            type_next=f"class {kind}(keras.utils.PyDataset): ...",
        )
    return DataError(
        f"{name} is a {kind}.",
        expected="NumPy arrays (alone, or in a dict or list), a tf.data.Dataset, a keras.utils.PyDataset or a generator.",
    )


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

    conversions: list[Conversion] = []
    x, y = as_arrays(x, "x", conversions), as_arrays(y, "y", conversions)
    sample_weight = as_arrays(sample_weight, "sample_weight", conversions)
    if class_weight is not None:
        if sample_weight is not None:
            raise DataError("Both class_weight and sample_weight were given.", expected="one of the two, as in Keras.")
        sample_weight = class_weights(y, class_weight)
    counts: dict[int, str] = {}
    for name, part in (("x", x), ("y", y), ("sample_weight", sample_weight)):
        for leaf in keras.tree.flatten(part) if part is not None else []:
            counts[len(leaf)] = name
    if not counts:
        raise nothing()
    if len(counts) > 1:
        raise DataError(f"The data does not match: {_found(counts)}.", "as many rows in y (and weights) as in x.")
    rows = next(iter(counts))
    if rows == 0:
        raise no_rows()
    for leaf in keras.tree.flatten(x):
        if 0 in leaf.shape[1:]:
            raise DataError(f"The rows of x hold no value: its shape is {leaf.shape}.", "at least one value in a row.")
    if sample_weight is not None and keras.tree.is_nested(y) and not keras.tree.is_nested(sample_weight):
        sample_weight = keras.tree.map_structure(lambda _: sample_weight, y)  # as Keras: each output gets it
    return ArraySource(pack(x, y, sample_weight), rows, conversions=tuple(conversions))


def no_rows() -> DataError:
    """Return what to say of data with no row."""
    return DataError("The data has no rows.", expected="at least one row.")


def nothing() -> DataError:
    """Return what to say where there is no data at all."""
    return DataError("There is no data: x is empty.", expected="model.fit(x, y, ...)")


def _found(counts: dict[int, str]) -> str:
    """Return the rows of each part in words; a part of many different ones is summed up."""
    found = []
    for name in dict.fromkeys(counts.values()):
        own = [rows for rows, of in counts.items() if of == name]
        few = len(own) <= MOST_LISTED
        found += (
            [f"{name} has {rows:,} rows" for rows in own] if few else [f"{name} has {min(own):,} to {max(own):,} rows"]
        )
    return ", ".join(found)


def class_weights(y: Any, class_weight: dict) -> np.ndarray:
    """Return one weight per row from the class of each row.

    Args:
        y: Labels ``(rows,)`` or ``(rows, 1)``, or one-hot ``(rows, classes)``.
        class_weight: Class index to weight; a class that is missing weighs 1.

    Raises:
        DataError: When there are no labels, or those of several outputs.
    """
    if not isinstance(class_weight, dict):
        raise DataError(
            f"class_weight is a {type(class_weight).__name__}.",
            expected="a dict of class numbers and weights.",
            type_next="class_weight={0: 1.0, 1: 5.0}",
        )
    if y is None or not isinstance(y, np.ndarray | Rows):
        raise DataError(
            "class_weight needs a single array of labels.",
            expected="one output, or sample_weight instead.",
            type_next='sample_weight={"first": weights_first, "second": weights_second}',
        )
    labels = np.asarray(y)
    labels = labels.argmax(axis=-1) if y.ndim > 1 and y.shape[-1] > 1 else labels.reshape(len(y), -1)[:, 0]
    labels = np.round(labels)
    weights = np.ones(len(y), "float32")
    for label, weight in class_weight.items():
        weights[labels == label] = weight
    return weights
