"""Ragged and sparse tensors of a tf.data.Dataset, made dense in bulk."""

from __future__ import annotations

from typing import Any

from ..buckets import Padding
from ..done import Done

WHY_SPARSE = "A TPU has no sparse arrays, so each batch is written out in full."


def dense(dataset: Any, padding: Padding, tensorflow: Any) -> tuple[Any, tuple[Done, ...]]:
    """Return a dataset of dense tensors, and what that changed; the same dataset when it is dense already.

    Ragged rows of a batch get the length of its longest; padding to a few lengths comes later.

    Args:
        dataset: Batched or not.
        padding: What to fill ragged inputs with.
        tensorflow: The imported module.
    """
    ragged, sparse = tensorflow.RaggedTensorSpec, tensorflow.SparseTensorSpec
    specs = tensorflow.nest.flatten(dataset.element_spec)
    if not any(isinstance(spec, ragged | sparse) for spec in specs):
        return dataset, ()
    element = dataset.element_spec
    inputs = len(tensorflow.nest.flatten(element[0] if isinstance(element, tuple) else element))

    def to_dense(*parts: Any) -> Any:
        whole = parts if isinstance(element, tuple) else parts[0]
        leaves = [
            _dense_leaf(leaf, spec, padding.value if at < inputs else 0, tensorflow)
            for at, (leaf, spec) in enumerate(zip(tensorflow.nest.flatten(whole), specs, strict=True))
        ]
        return tensorflow.nest.pack_sequence_as(element, leaves)

    done: tuple[Done, ...] = ()
    if any(isinstance(spec, sparse) for spec in specs):
        done = (Done("input-pipeline", "sparse tensors", "dense tensors, batch by batch", WHY_SPARSE, "dense tensors"),)
    return dataset.map(to_dense, num_parallel_calls=tensorflow.data.AUTOTUNE), done


def _dense_leaf(leaf: Any, spec: Any, filler: float, tensorflow: Any) -> Any:
    if isinstance(spec, tensorflow.SparseTensorSpec):
        return tensorflow.sparse.to_dense(leaf)
    if isinstance(leaf, tensorflow.RaggedTensor):
        return leaf.to_tensor(tensorflow.cast(filler, leaf.dtype))
    return leaf
