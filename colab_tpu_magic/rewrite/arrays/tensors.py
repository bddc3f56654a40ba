"""Tensors of the frameworks, and whatever else turns itself into an array: no copy where the memory is the host's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DataError


def read_tensor(leaf: Any, name: str) -> tuple[Any, None] | None:
    """Return a tf.Tensor, a JAX array, a torch tensor or another array-like as an array."""
    if isinstance(leaf, np.ndarray):
        return leaf, None
    kind = type(leaf)
    if kind.__module__.startswith("tensorflow.") and not hasattr(leaf, "numpy"):
        raise DataError(
            f"{name} is a {kind.__name__} without a value: a tensor of a graph.",
            expected="eager tensors, as TensorFlow 2 makes them.",
            type_next=f"{name} as it was before the tf.function, or a tf.data.Dataset",
        )
    if kind.__module__.split(".")[0] == "torch" and hasattr(leaf, "detach"):
        return leaf.detach().cpu().numpy(), None
    if hasattr(leaf, "to_numpy"):
        return np.asarray(leaf.to_numpy()), None
    if hasattr(leaf, "__array__") or isinstance(leaf, list):
        return np.asarray(leaf), None
    return None
