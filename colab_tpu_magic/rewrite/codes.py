"""Write an array of few float32 values as one byte a value, after a proof over all of them that nothing changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..files.memory import available_bytes
from .sources import ArraySource

MOST_VALUES = 256
SMALLEST_BYTES = 1 << 20
SAMPLE = 1 << 16
# Values looked at in one go: what lies between two passes over them stays in a core's own cache.
PIECE = 1 << 17


@dataclass(frozen=True)
class Codes:
    """An array as bytes, and what each byte stands for.

    Attributes:
        array: uint8, the shape of the array that was written.
        table: float32 ``(2 to 256,)``; ``table[array]`` is bit for bit what was written.
        values: Different values that occur.
    """

    array: np.ndarray
    table: np.ndarray
    values: int


@dataclass(frozen=True)
class Coded:
    """A source some of whose inputs are codes.

    Attributes:
        source: The same rows, codes in the place of floats.
        tables: For each flattened leaf what its codes stand for, None where it holds no codes.
        values: Different values of each coded leaf.
        row_bytes: Bytes of a row's codes.
    """

    source: ArraySource
    tables: tuple[np.ndarray | None, ...]
    values: tuple[int, ...]
    row_bytes: int


def coded(source: ArraySource) -> Coded | None:
    """Return a source with codes for each input that can be written so, None when there is none."""
    import keras

    leaves = keras.tree.flatten(source.tree)
    inputs = len(keras.tree.flatten(source.tree[0]))
    dtypes = source.dtypes or (None,) * len(leaves)
    made: list[Codes | None] = [
        written(leaf, dtype) if at < inputs else None
        for at, (leaf, dtype) in enumerate(zip(leaves, dtypes, strict=True))
    ]
    found = [codes for codes in made if codes is not None]
    if not found:
        return None
    pairs = list(zip(leaves, dtypes, made, strict=True))
    tree = [leaf if codes is None else codes.array for leaf, _, codes in pairs]
    return Coded(
        replace(
            source,
            tree=keras.tree.pack_sequence_as(source.tree, tree),
            dtypes=tuple(dtype if codes is None else None for _, dtype, codes in pairs),
        ),
        tuple(None if codes is None else codes.table for codes in made),
        tuple(codes.values for codes in found),
        sum(codes.array[:1].nbytes for codes in found),
    )


def written(array: Any, dtype: np.dtype | None = None) -> Codes | None:
    """Return an array's codes, None when it is small, lies in a file or cannot be written so.

    Its values have to lie on a line with equal steps, as k, k/255 and k/127.5 − 1 do, none of them NaN or
    infinite, zero with one sign.

    Args:
        array: What a source holds.
        dtype: What a batch of it is cast to; None leaves it.

    Example:
        >>> pixels = np.arange(512 * 1024, dtype="uint8").reshape(512, 1024)
        >>> codes = written(pixels / np.float32(255))
        >>> codes.values, codes.array.nbytes
        (256, 524288)
    """
    if not isinstance(array, np.ndarray) or (array.dtype if dtype is None else dtype) != np.float32:
        return None
    if array.dtype not in (np.float32, np.float64) or array.size * 4 < SMALLEST_BYTES:
        return None
    if not (array.flags.c_contiguous and array.flags.aligned) or _lies_in_a_file(array):
        return None
    flat = array.reshape(-1)
    # What lies outside of float32 is seen below, as a value that is not finite.
    with np.errstate(all="ignore"):
        line = _line(flat)
        if line is None or not _fits(flat.size):
            return None
        found = _encoded(flat, *line)
    if found is None:
        return None
    codes, table, used = found
    return Codes(codes.reshape(array.shape), table, int(used))


def _line(flat: np.ndarray) -> tuple[np.float32, np.float32, int] | None:
    """Return the least value, the steps in one unit and the largest code, None when a sample has too many values."""
    places = np.random.default_rng(0).integers(0, flat.size, SAMPLE)
    seen = np.unique(flat[places].astype(np.float32))
    if not 2 <= len(seen) <= MOST_VALUES or not np.isfinite(seen).all():
        return None
    least, largest = np.float32(flat.min()), np.float32(flat.max())
    span = float(largest) - float(least)
    levels = np.rint(span / np.diff(seen.astype(np.float64)).min())
    if not (np.isfinite(span) and 1 <= levels < MOST_VALUES):
        return None
    return least, np.float32(levels / span), int(levels)


def _encoded(
    flat: np.ndarray, least: np.float32, scale: np.float32, levels: int
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Return codes, table and how many of its values occur, None as soon as one value has no code of its own.

    A code's value is the first that is met with it. Every value is read back and compared as bits.
    """
    table, used = np.full(levels + 1, np.nan, np.float32), np.zeros(levels + 1, bool)
    codes = np.empty(flat.size, np.uint8)
    cast, work = np.empty(PIECE, np.float32), np.empty(PIECE, np.float32)
    for start in range(0, flat.size, PIECE):
        values, code = flat[start : start + PIECE], codes[start : start + PIECE]
        work = work[: len(values)]
        if values.dtype != np.float32:
            np.copyto(cast[: len(values)], values, casting="same_kind")
            values = cast[: len(values)]
        np.subtract(values, least, out=work)
        np.multiply(work, scale, out=work)
        np.copyto(code, np.rint(work, out=work), casting="unsafe")
        wrong = _differ(table, code, values, work)
        if not wrong.any():
            continue
        fresh, first = np.unique(code[wrong], return_index=True)
        if fresh[-1] > levels or used[fresh].any():
            return None
        table[fresh], used[fresh] = values[wrong][first], True
        if _differ(table, code, values, work).any():
            return None
    tiny = np.abs(table) < np.finfo(np.float32).tiny
    if codes.max() > levels or (tiny & (table != 0)).any():  # a device may make zero of what is so small
        return None
    return codes, table, used.sum()


def _differ(table: np.ndarray, code: np.ndarray, values: np.ndarray, work: np.ndarray) -> np.ndarray:
    np.take(table, code, out=work, mode="clip")
    return work.view(np.uint32) != values.view(np.uint32)


def _lies_in_a_file(array: Any) -> bool:
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = getattr(array, "base", None)
    return False


def _fits(codes: int) -> bool:
    """Return whether so many bytes are at most a quarter of the free memory."""
    free = available_bytes()
    return free is None or codes <= free // 4
