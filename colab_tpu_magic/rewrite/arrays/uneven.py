"""Rows of different lengths that are no one array: lists, arrays of objects, lists of arrays. How to pad them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from ...errors import DataError

LOOKED_AT = 100
SEQUENCES = (list, tuple, np.ndarray)


def uneven_rows(what: str, name: str, rows: Iterable[Any], target: str = "") -> DataError:
    """Return what to say of rows of different lengths, with the line that pads them.

    Args:
        what: What they are, a sentence.
        name: How the user's line calls them: ``"x"`` or ``"x['tokens']"``.
        rows: The rows, each a sequence of numbers.
        target: What the line assigns to, where that is not `name`.

    Example:
        >>> uneven_rows("x is a list of lists of different lengths.", "x", [[1], [2, 3]]).type_next
        'x = keras.utils.pad_sequences(x, padding="post")'
    """
    floats = any(np.asarray(row).dtype.kind == "f" for row in islice(rows, LOOKED_AT) if _is_row(row))
    dtype = ', dtype="float32"' if floats else ""
    return DataError(
        what,
        expected="rows of one length.",
        type_next=f'{target or name} = keras.utils.pad_sequences({name}, padding="post"{dtype})',
    )


def check_objects(array: Any, name: str, kind: str = "an array", target: str = "") -> None:
    """Refuse an array of objects, or a Series, whose rows are lists or arrays; anything else is left to others.

    Raises:
        DataError: With the line that pads the rows.
    """
    if array.ndim != 1 or not len(array):
        return
    rows = list(array[:LOOKED_AT])
    if not all(isinstance(row, SEQUENCES) for row in rows):
        return
    own = type(rows[0]).__name__
    article = "an" if own == "ndarray" else "a"
    raise uneven_rows(f"{name} is {kind} of objects, {article} {own} in each row.", name, rows, target)


def check_arrays(part: Any, name: str) -> None:
    """Refuse a list of arrays with one axis each and different lengths: rows, not inputs, that cannot be stacked.

    Raises:
        DataError: With the line that pads them.
    """
    if not isinstance(part, list | tuple) or not all(isinstance(one, np.ndarray) and one.ndim == 1 for one in part):
        return
    lengths = {len(one) for one in part}
    if len(lengths) < 2 or any(one.dtype.kind not in "biuf" for one in part):
        return
    error = uneven_rows(
        f"{name} is a {type(part).__name__} of {len(part)} arrays of different lengths, {min(lengths)} to {max(lengths)}.",
        name,
        part,
    )
    raise DataError(error.what, "rows of one length; of several inputs, as many rows in each.", error.type_next)


def _is_row(row: Any) -> bool:
    try:
        np.asarray(row)
    except ValueError:  # rows within rows, of different lengths themselves
        return False
    return True
