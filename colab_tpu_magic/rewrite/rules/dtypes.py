"""Rule ``dtypes``: numbers arrive in the types that a TPU computes in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.integers import NarrowedRows, is_read_late, too_wide
from ..prepared import PreparedFit
from ..sources import ArraySource, Source
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions


class Dtypes(Rule):
    """Cast float64 to float32, wide integers to int32 and bool to float32, batch by batch."""

    id = "dtypes"
    title = "Number types"
    why = (
        "A TPU computes in 32-bit floats and integers and narrower; 64-bit numbers only cost transfer. "
        "Each batch is cast as it is made, so your arrays stay as they are."
    )
    source = "docs.jax.dev, default dtypes and the x64 flag (2026)"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Set a target dtype for each leaf that needs one."""
        data, casts = device_dtypes(prepared.data)
        validation = prepared.validation and device_dtypes(prepared.validation)[0]
        if not casts:
            return prepared.but(validation=validation)
        before = ", ".join(dict.fromkeys(source for source, _ in casts))
        after = ", ".join(dict.fromkeys(target for _, target in casts))
        return prepared.but(self.change(before, after), data=data, validation=validation)


def device_dtypes(source: Source) -> tuple[Source, list[tuple[str, str]]]:
    """Return the source with target dtypes, and the (before, after) pairs of those that change.

    Raises:
        DataError: When an integer does not fit in 32 bits.
    """
    import keras

    leaves = keras.tree.flatten(source.tree if isinstance(source, ArraySource) else source.example)
    targets = tuple(_target(leaf) for leaf in leaves)
    casts = [(str(leaf.dtype), str(target)) for leaf, target in zip(leaves, targets, strict=True) if target is not None]
    if not casts:
        return source, casts
    if isinstance(source, ArraySource):
        looked_at = [
            NarrowedRows(leaf) if target == np.int32 and is_read_late(leaf) else leaf
            for leaf, target in zip(leaves, targets, strict=True)
        ]
        source = replace(source, tree=keras.tree.pack_sequence_as(source.tree, looked_at))
    return replace(source, dtypes=targets), casts


def _target(leaf: Any) -> np.dtype | None:
    dtype = leaf.dtype
    if dtype == np.float64 or dtype.kind == "b":
        return np.dtype("float32")
    if dtype.kind in "iu" and dtype.itemsize >= 4 and dtype != np.int32:
        if leaf.size and not is_read_late(leaf):
            error = too_wide(int(leaf.min()), int(leaf.max()))
            if error is not None:
                raise error
        return np.dtype("int32")
    return None
