"""tf.data Datasets, when TensorFlow is imported."""

from __future__ import annotations

import sys
from typing import Any

from ...errors import DataError
from .base import Stream


def read_tf_data(x: Any, shuffle: bool) -> Stream | None:
    """Return a dataset's batches as NumPy arrays."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not isinstance(x, tensorflow.data.Dataset):
        return None
    _refuse_uneven_rows(x, tensorflow)
    cardinality = int(x.cardinality())
    return Stream(
        "tf.data.Dataset",
        x.as_numpy_iterator,
        cardinality if cardinality >= 0 else None,
        infinite=cardinality == tensorflow.data.INFINITE_CARDINALITY,
    )


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
