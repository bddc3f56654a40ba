"""What a form of data is read as: where its batches come from, how many, and whether they can come again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


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
    """

    form: str
    open: Callable[[], Iterator[Any]]
    batches: int | None = None
    infinite: bool = False
    once: bool = False
    remark: str = ""
