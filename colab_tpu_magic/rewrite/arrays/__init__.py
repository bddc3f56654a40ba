"""The forms of data with random access, one file a family; each reader takes what it knows and leaves the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .base import Conversion, Rows, part_of
from .byte_order import read_byte_order
from .frames import read_frame
from .ragged import read_ragged
from .sparse import read_jax_sparse, read_scipy, read_tensorflow_sparse
from .tensors import read_tensor

__all__ = ["Conversion", "Rows", "convert", "part_of"]

Reader = Callable[[Any, str], tuple[Any, Conversion | None] | None]

READERS: tuple[Reader, ...] = (
    read_byte_order,
    read_scipy,
    read_jax_sparse,
    read_tensorflow_sparse,
    read_ragged,
    read_frame,
    read_tensor,
)


def convert(leaf: Any, name: str) -> tuple[Any, Conversion | None] | None:
    """Return one array of the user's as a NumPy array or as `Rows`, and what had to be done; None when unknown.

    Args:
        leaf: What the user gave, without the dicts, lists and tuples around it.
        name: ``"x"``, ``"y"`` or ``"sample_weight"``.

    Raises:
        DataError: When the form is known and what it holds cannot be used.
    """
    if isinstance(leaf, Rows):
        return leaf, None
    return next((read for reader in READERS if (read := reader(leaf, name)) is not None), None)
