"""Arrays in another order of bytes than this machine's, as FITS, netCDF and IDX files hold them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Conversion, Rows

SMALL_BYTES = 1 << 20
"""Up to here, labels and weights as a rule, an array is written anew at once."""


class NativeRows(Rows):
    """Rows in this machine's order of bytes.

    Args:
        leaf: An array in another order.
    """

    def __init__(self, leaf: np.ndarray) -> None:
        super().__init__(leaf.shape, leaf.dtype.newbyteorder("="))
        self.leaf = leaf

    def gather(self, rows: np.ndarray) -> np.ndarray:
        """Write rows anew."""
        return self.leaf.take(rows, axis=0).astype(self.dtype)


def read_byte_order(leaf: Any, name: str) -> tuple[Any, Conversion | None] | None:
    """Read an array of numbers in another order of bytes, also one of a stream's batches.

    TensorFlow (2.21, December 2026) takes such bytes as they lie and trains from wrong numbers; JAX refuses them.
    """
    if not isinstance(leaf, np.ndarray) or leaf.dtype.isnative or leaf.dtype.kind not in "iufc" or not leaf.ndim:
        return None
    conversion = Conversion(
        f"{name}: bytes in another order ({leaf.dtype.str})",
        "in this machine's order, batch by batch" if leaf.nbytes > SMALL_BYTES else "in this machine's order",
        f'{name} = {name}.astype("{leaf.dtype.name}")',
    )
    rows = NativeRows(leaf)
    return (rows if leaf.nbytes > SMALL_BYTES else rows[:]), conversion
