"""Sparse rows, SciPy's, JAX' and TensorFlow's: each batch is made dense as it is gathered."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Conversion, Rows

AFTER = "each batch made dense as it is gathered"


class SparseRows(Rows):
    """The rows of a SciPy matrix in CSR form.

    Args:
        matrix: The matrix, (rows, columns).
    """

    def __init__(self, matrix: Any) -> None:
        super().__init__(tuple(matrix.shape), matrix.dtype)
        self.matrix = matrix.tocsr()  # the same object where it is CSR already

    def gather(self, rows: np.ndarray) -> np.ndarray:
        """Make rows dense."""
        return np.asarray(self.matrix[rows].toarray())


def read_scipy(leaf: Any, name: str) -> tuple[Any, Conversion] | None:
    """Return the rows of a scipy.sparse matrix or array."""
    if not type(leaf).__module__.startswith("scipy.sparse") or not hasattr(leaf, "toarray"):
        return None
    conversion = Conversion(f"{name}: sparse rows ({type(leaf).__name__})", AFTER, f"{name} = {name}.toarray()")
    return (SparseRows(leaf) if len(leaf.shape) == 2 else leaf.toarray()), conversion


def read_jax_sparse(leaf: Any, name: str) -> tuple[Any, Conversion] | None:
    """Return the rows of a jax.experimental.sparse matrix."""
    if not type(leaf).__module__.startswith("jax.experimental.sparse") or not hasattr(leaf, "todense"):
        return None
    conversion = Conversion(f"{name}: sparse rows ({type(leaf).__name__})", AFTER, f"{name} = {name}.todense()")
    if hasattr(leaf, "indices") and len(leaf.shape) == 2 and getattr(leaf, "n_sparse", 0) == 2:
        return _rows(np.asarray(leaf.indices), np.asarray(leaf.data), leaf.shape), conversion
    return np.asarray(leaf.todense()), conversion


def read_tensorflow_sparse(leaf: Any, name: str) -> tuple[Any, Conversion] | None:
    """Return the rows of an eager tf.SparseTensor."""
    if type(leaf).__name__ != "SparseTensor" or not hasattr(leaf, "dense_shape"):
        return None
    conversion = Conversion(f"{name}: sparse rows (tf.SparseTensor)", AFTER, f"{name} = tf.sparse.to_dense({name})")
    shape = tuple(int(axis) for axis in leaf.dense_shape.numpy())
    indices, values = leaf.indices.numpy(), leaf.values.numpy()
    if len(shape) == 2 and values.dtype.kind in "fiub":
        return _rows(indices, values, shape), conversion
    dense = np.zeros(shape, values.dtype)
    dense[tuple(indices.T)] = values
    return dense, conversion


def _rows(indices: np.ndarray, values: np.ndarray, shape: tuple[int, ...]) -> Any:
    """Return rows of coordinates ``(n, 2)`` and values ``(n,)``; dense where SciPy is not there."""
    try:
        import scipy.sparse
    except ImportError:
        dense = np.zeros(shape, values.dtype)
        np.add.at(dense, tuple(indices.T), values)
        return dense
    return SparseRows(scipy.sparse.coo_matrix((values, (indices[:, 0], indices[:, 1])), shape=shape))
