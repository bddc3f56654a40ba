"""What a dataset made from files says of itself, so that a fit reads it in bulk and tells how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..rewrite.done import Done
from .passes import Passes

ATTRIBUTE = "_colab_tpu_magic"


@dataclass(frozen=True)
class FileNotes:
    """Facts about a ``tf.data.Dataset`` that was made from files.

    Attributes:
        form: What it is, for people: ``"TFRecord dataset"``.
        rows: Rows in one pass, or None when unknown.
        batch_size: Rows in its batches.
        done: What was done to read it fast.
        batches: Returns an iterator over NumPy batches past tf.data, ``batches(batch_size, forever)``; or None.
        passes: Number the passes over the files, None where they come in one order.
    """

    form: str
    rows: int | None
    batch_size: int
    done: tuple[Done, ...]
    batches: Callable[[int, bool], Iterator[Any]] | None = None
    passes: Passes | None = None


def with_notes(dataset: Any, notes: FileNotes) -> Any:
    """Return the dataset with its notes on it; what is mapped from it has none, and is an ordinary dataset."""
    setattr(dataset, ATTRIBUTE, notes)
    return dataset


def notes_of(dataset: Any) -> FileNotes | None:
    """Return the notes of a dataset that was made from files, None for any other."""
    return getattr(dataset, ATTRIBUTE, None)
