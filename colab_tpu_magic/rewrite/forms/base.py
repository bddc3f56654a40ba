"""What a form of data is read as: where its batches come from, how many, and whether they can come again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..buckets import NO_PADDING, Padding
from ..done import Done


@dataclass(frozen=True)
class Stream:
    """Batches in an order of their own.

    Attributes:
        form: What it is, for people: ``"tf.data.Dataset"``.
        open: Returns a fresh iterator over what the data gives: ``x``, ``(x, y)`` or ``(x, y, sample_weight)``.
        batches: Batches in one pass, or None when unknown.
        infinite: Whether a pass never ends.
        once: Whether only one pass can be made (a Python generator).
        remark: Something about how it is read, for people, or "".
        fresh: Whether each batch is made anew, and nobody writes into its arrays afterwards.
        rows: Rows in one pass, or None when unknown.
        sized: Returns an iterator over batches of a size that is chosen later, made by the form itself:
            ``sized(batch_size, forever)``. Forever, pass follows pass and every batch is full. Without it
            batches are cut and joined afterwards.
        free: Of each flattened array, the axes that may differ from batch to batch, the first not among them;
            None for all of them. Empty when every length is fixed. None in place of all: the form does not
            say, and the model does (`open_axes`).
        padding: What to pad such axes with.
        done: What reading it has changed.
    """

    form: str
    open: Callable[[], Iterator[Any]]
    batches: int | None = None
    infinite: bool = False
    once: bool = False
    rows: int | None = None
    sized: Callable[[int, bool], Iterator[Any]] | None = None
    free: tuple[tuple[int, ...] | None, ...] | None = None
    padding: Padding = NO_PADDING
    done: tuple[Done, ...] = ()
    remark: str = ""
    fresh: bool = False
