"""Rows that a data source gives one by one, by number: tfds.data_source, and a grain.MapDataset that is not batched."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import DataError
from .base import Rows


class Records:
    """Records by number, each read once for all the arrays that are made of its parts.

    Args:
        source: Has ``len()`` and gives a record by number.
        parted: Returns ``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)`` of a record.
    """

    def __init__(self, source: Any, parted: Callable[[Any], tuple[Any, ...]]) -> None:
        self.source = source
        self.parted = parted
        self._lock = threading.Lock()
        self._last: tuple[bytes, list[np.ndarray]] = (b"none", [])

    def tree(self) -> tuple[Any, ...]:
        """Return ``(x, y)`` with `Rows` in place of arrays."""
        import keras

        first = self.parted(self.source[0])
        leaves = [np.asarray(leaf) for leaf in keras.tree.flatten(first)]
        rows = [RecordRows(self, at, leaf, len(self.source)) for at, leaf in enumerate(leaves)]
        return keras.tree.pack_sequence_as(first, rows)

    def read(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return every array of some records, ``(rows, ...)`` each."""
        import keras

        key = rows.tobytes()
        with self._lock:
            if self._last[0] != key:
                numbers = [int(row) for row in rows]
                several = getattr(self.source, "__getitems__", None)
                records = several(numbers) if several is not None else [self.source[number] for number in numbers]
                lines = [keras.tree.flatten(self.parted(record)) for record in records]
                self._last = (
                    key,
                    [np.stack([np.asarray(leaf) for leaf in column]) for column in zip(*lines, strict=True)],
                )
            return self._last[1]


class RecordRows(Rows):
    """One array of the records.

    Args:
        records: Where they are read.
        at: Place of the array among the flattened parts of a record.
        example: The first record's value.
        rows: Number of records.
    """

    def __init__(self, records: Records, at: int, example: np.ndarray, rows: int) -> None:
        super().__init__((rows, *example.shape), example.dtype)
        self.records, self.at = records, at

    def gather(self, rows: np.ndarray) -> np.ndarray:
        """Read records and return their values.

        Raises:
            DataError: When they differ in shape.
        """
        if not len(rows):
            return np.empty((0, *self.shape[1:]), self.dtype)
        try:
            return self.records.read(rows)[self.at]
        except ValueError as error:
            raise DataError(f"The records differ in shape ({error}).", expected="records of one shape.") from None


def read_records(x: Any) -> tuple[Any, ...] | None:
    """Return the rows of a data source as ``(x,)`` or ``(x, y)``, None for anything else."""
    if hasattr(x, "dataset_info") and hasattr(x, "__getitem__") and hasattr(x, "__len__"):
        keys = x.dataset_info.supervised_keys
        if not keys or len(keys) < 2:
            raise DataError(
                f"The data source {x.dataset_info.name} does not say which of its features are x and y.",
                expected="a source with supervised_keys.",
                type_next='model.fit(grain.MapDataset.source(source).map(lambda row: (row["image"], row["label"])))',
            )
        return Records(x, lambda record: tuple(record[key] for key in keys)).tree() if len(x) else None
    grain = sys.modules.get("grain")
    if grain is None or not isinstance(x, grain.MapDataset) or not 0 < len(x) < sys.maxsize:
        return None
    first = x[0]
    single = isinstance(first, tuple) and len(first) in (2, 3) and np.ndim(first[1]) == 0
    return Records(x, lambda record: record).tree() if single else None
