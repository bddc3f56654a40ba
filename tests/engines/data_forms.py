"""Data in every form, by name: the columns of the table that `test_pairs.py` makes with the forms of models.

Each is a function of ``(x, y, sample_weight)`` in NumPy, of which the weights may be None, that returns
the arguments of a `fit` with the same rows in the same order. Forms whose batches the user makes have
`BATCH` rows, the last of them fewer where the rows do not divide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

BATCH = 16


@dataclass(frozen=True)
class DataForm:
    """One form of data.

    Attributes:
        give: Returns the arguments of a fit: ``x``, and ``y`` and ``sample_weight`` where they are not in it.
        inputs: The kinds of inputs that it can hold.
        targets: The kinds of targets that it can hold.
        splits: Whether it takes ``validation_split``.
        epochs: Passes it can give: a generator one.
        stands_for: ``"rows"``, ``"batches"`` or ``"once"`` where it stands for all forms that are read that way.
        other_shapes: Whether labels come as (rows, 1), for which a step has to be made anew.
        needs: Package that must be installed.
    """

    give: Callable[[Any, Any, Any], dict[str, Any]]
    inputs: tuple[str, ...] = ("vector", "image", "tokens", "two")
    targets: tuple[str, ...] = ("class", "two")
    splits: bool = False
    epochs: int = 2
    stands_for: str = ""
    other_shapes: bool = False
    needs: str = ""


DATA: dict[str, DataForm] = {}


def data_form(name: str, **tags: Any) -> Callable:
    """Register the function below as a form of data."""
    assert name not in DATA

    def register(give: Callable) -> Callable:
        DATA[name] = DataForm(give, **tags)
        return give

    return register


def beside(x: Any, y: Any, weight: Any) -> dict[str, Any]:
    """Return arrays as arguments of a fit."""
    return {"x": x, "y": y} if weight is None else {"x": x, "y": y, "sample_weight": weight}


def parts(x: Any, y: Any, weight: Any) -> tuple:
    """Return what a batch of these is."""
    return (x, y) if weight is None else (x, y, weight)


def cut(x: Any, y: Any, weight: Any) -> Iterator[tuple]:
    """Yield batches of `BATCH` rows."""
    whole = parts(x, y, weight)
    rows = len(keras.tree.flatten(whole)[0])
    for start in range(0, rows, BATCH):
        yield keras.tree.map_structure(lambda leaf, start=start: leaf[start : start + BATCH], whole)


each = keras.tree.map_structure


@data_form("numpy", splits=True, stands_for="rows")
def numpy_arrays(x, y, weight):
    return beside(x, y, weight)


@data_form("float64 and int64", splits=True)
def wide(x, y, weight):
    widened = {"f": "float64", "i": "int64", "u": "uint8"}
    return beside(*each(lambda leaf: leaf.astype(widened[leaf.dtype.kind]), (x, y)), weight)


@data_form("lists", inputs=("vector", "tokens"), targets=("class",), splits=True)
def lists(x, y, weight):
    return beside(x.tolist(), y.tolist(), weight)


@data_form("memory map", splits=True)
def memory_map(x, y, weight):
    import tempfile

    def mapped(leaf):
        file = tempfile.TemporaryFile()
        there = np.memmap(file, leaf.dtype, "w+", shape=leaf.shape)
        there[:] = leaf
        return there

    return beside(each(mapped, x), y, weight)


@data_form("pandas", inputs=("vector", "two"), splits=True, other_shapes=True, needs="pandas")
def frames(x, y, weight):
    import pandas

    return beside(each(pandas.DataFrame, x), each(pandas.Series, y), None if weight is None else pandas.Series(weight))


@data_form("sparse", inputs=("vector", "two"), splits=True, needs="scipy")
def sparse(x, y, weight):
    import scipy.sparse

    return beside(each(scipy.sparse.csr_matrix, x), y, weight)


@data_form("framework tensors", splits=True)
def tensors(x, y, weight):
    return beside(*each(keras.ops.convert_to_tensor, (x, y)), weight)


@data_form("tf.RaggedTensor", inputs=("tokens",), splits=True, needs="tensorflow")
def ragged(x, y, weight):
    import tensorflow as tf

    return beside(tf.RaggedTensor.from_tensor(x), y, weight)


@data_form("function returning arrays")
def function_of_arrays(x, y, weight):
    return {"x": lambda: parts(x, y, weight)}


@data_form("tf.data", needs="tensorflow")
def tf_data(x, y, weight):
    import tensorflow as tf

    return {"x": tf.data.Dataset.from_tensor_slices(parts(x, y, weight)).batch(BATCH)}


@data_form("function returning tf.data", needs="tensorflow")
def input_fn(x, y, weight):
    return {"x": lambda: tf_data(x, y, weight)["x"]}


class Pieces(keras.utils.PyDataset):
    """Batches made beforehand."""

    def __init__(self, batches, **arguments):
        super().__init__(**arguments)
        self.batches = list(batches)

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


@data_form("PyDataset", stands_for="batches")
def py_dataset(x, y, weight):
    return {"x": Pieces(cut(x, y, weight))}


@data_form("PyDataset with workers")
def py_dataset_with_workers(x, y, weight):
    return {"x": Pieces(cut(x, y, weight), workers=2)}


@data_form("generator", epochs=1, stands_for="once")
def generator(x, y, weight):
    return {"x": cut(x, y, weight)}


@data_form("generator function")
def generator_function(x, y, weight):
    return {"x": lambda: cut(x, y, weight)}


@data_form("iterable")
def iterable(x, y, weight):
    class Loader:
        def __iter__(self):
            return cut(x, y, weight)

    return {"x": Loader()}


@data_form("grain rows", targets=("class",), needs="grain")
def grain_rows(x, y, weight):
    import grain

    whole = parts(x, y, weight)
    rows = grain.MapDataset.range(len(y))
    return {"x": rows.map(lambda i: keras.tree.map_structure(lambda leaf: leaf[i], whole))}


@data_form("grain batches", targets=("class",), needs="grain")
def grain_batches(x, y, weight):
    return {"x": grain_rows(x, y, weight)["x"].batch(BATCH)}
