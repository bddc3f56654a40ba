"""Open datasets, PyDatasets and generators as streams of NumPy batches."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np

from ..errors import DataError
from .sources import Batch, Source, StreamSource, array_source, as_arrays, class_weights, pack, rows_of


def read_data(
    x: Any, y: Any = None, sample_weight: Any = None, class_weight: dict | None = None, shuffle: bool = False
) -> Source:
    """Return any data that Keras takes as a source.

    Args:
        x: Arrays, a tf.data.Dataset, a keras.utils.PyDataset, a torch DataLoader or a generator.
        y: Targets, with arrays only.
        sample_weight: One weight per row, with arrays only.
        class_weight: Class index to weight.
        shuffle: Whether a PyDataset's batches come in a new order each pass, as in Keras.

    Raises:
        DataError: When the data cannot be used.
    """
    stream = _stream_of(x, shuffle)
    if stream is None:
        return array_source(x, y, sample_weight, class_weight)
    form, opener, batches, infinite, once = stream
    if y is not None or sample_weight is not None:
        raise DataError(
            f"x is a {form}, and y or sample_weight was given beside it.",
            expected=f"targets and weights inside the {form}.",
        )

    def open_packed() -> Iterator[Batch]:
        for element in opener():
            yield _as_batch(element, form, class_weight)

    first = next(open_packed(), None)
    if first is None:
        raise DataError(f"The {form} is empty.", expected="at least one batch.")
    if once:
        rest = chain([first], open_packed())
        return StreamSource(form, lambda: rest, first, rows_of(first), batches, infinite, once)
    return StreamSource(form, open_packed, first, rows_of(first), batches, infinite, once)


def _stream_of(x: Any, shuffle: bool) -> tuple[str, Any, int | None, bool, bool] | None:
    """Return (form, opener, batches, infinite, once), or None for arrays."""
    import keras

    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and isinstance(x, tensorflow.data.Dataset):
        _refuse_uneven_rows(x, tensorflow)
        cardinality = int(x.cardinality())
        infinite = cardinality == tensorflow.data.INFINITE_CARDINALITY
        return "tf.data.Dataset", x.as_numpy_iterator, cardinality if cardinality >= 0 else None, infinite, False
    if isinstance(x, keras.utils.PyDataset):
        batches = x.num_batches
        return "PyDataset", lambda: _py_dataset(x, shuffle), batches, batches is None, False
    if isinstance(x, types.GeneratorType):
        return "generator", lambda: x, None, False, True
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.utils.data.DataLoader):
        return "torch DataLoader", lambda: iter(x), len(x) if hasattr(x, "__len__") else None, False, False
    return None


def _refuse_uneven_rows(dataset: Any, tensorflow: Any) -> None:
    for spec in tensorflow.nest.flatten(dataset.element_spec):
        if isinstance(spec, tensorflow.RaggedTensorSpec):
            raise DataError(
                "The tf.data.Dataset gives ragged tensors.",
                expected="rows of one length.",
                type_next="dataset.map(lambda x, y: (x.to_tensor(), y))",
            )
        if isinstance(spec, tensorflow.SparseTensorSpec):
            raise DataError(
                "The tf.data.Dataset gives sparse tensors.",
                expected="dense tensors.",
                type_next="dataset.map(lambda x, y: (tf.sparse.to_dense(x), y))",
            )


def _py_dataset(dataset: Any, shuffle: bool) -> Iterator[Any]:
    """Yield the batches of a PyDataset in order, several made at once where it has workers."""
    batches = dataset.num_batches
    if batches is None:
        index = 0
        while True:
            yield dataset[index]
            index += 1
    order = np.random.default_rng(np.random.randint(2**31)).permutation(batches) if shuffle else np.arange(batches)
    workers = max(1, int(getattr(dataset, "workers", 1)))
    if workers == 1:
        for index in order:
            yield dataset[int(index)]
    else:
        with ThreadPoolExecutor(workers) as pool:
            waiting: list[Any] = []
            for index in order:
                waiting.append(pool.submit(dataset.__getitem__, int(index)))
                if len(waiting) > workers:
                    yield waiting.pop(0).result()
            for made in waiting:
                yield made.result()
    dataset.on_epoch_end()


def _as_batch(element: Any, form: str, class_weight: dict | None) -> Batch:
    import keras

    if isinstance(element, list):
        element = tuple(element)
    if not isinstance(element, tuple):
        element = (element,)
    if not 1 <= len(element) <= 3:
        raise DataError(
            f"A batch of the {form} has {len(element)} parts.", expected="(x,), (x, y) or (x, y, sample_weight)."
        )
    x, y, weight = (*element, None, None)[:3]
    if any(np.ndim(leaf) == 0 for leaf in keras.tree.flatten((x, y)) if leaf is not None):
        raise DataError(f"The {form} gives single rows.", expected="batches of rows.", type_next="dataset.batch(32)")
    x, y, weight = as_arrays(x, "x"), as_arrays(y, "y"), as_arrays(weight, "sample_weight")
    if class_weight is not None and weight is None:
        weight = class_weights(y, class_weight)
    return pack(x, y, weight)
