"""The forms in which batches come, one file each; each reader takes what it knows and leaves the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..buckets import NO_PADDING, Padding
from .base import Stream
from .generators import read_generator, read_iterable
from .grain_loader import read_grain
from .py_dataset import read_py_dataset
from .tf_data import read_tf_data
from .torch_loader import read_torch_loader

Reader = Callable[[Any, bool], Stream | None]

READERS: tuple[Reader, ...] = (
    read_py_dataset,
    read_generator,
    read_torch_loader,
    read_grain,
    read_iterable,  # last: whatever else can be iterated over
)


def stream_of(
    x: Any, shuffle: bool, model: Any = None, batch_size: int | None = None, padding: Padding = NO_PADDING
) -> Stream | None:
    """Return data that comes as batches, or None for anything else (arrays).

    Args:
        x: What the user gave.
        shuffle: Whether a form that Keras shuffles comes in a new order each pass.
        model: The model that gets it, or None.
        batch_size: The call's batch size, for forms that give single rows.
        padding: What to pad rows of varying length with.

    Raises:
        DataError: When the form is known and cannot be used.
    """
    dataset = read_tf_data(x, shuffle, model, batch_size, padding)
    if dataset is not None:
        return replace(dataset, fresh=True)
    return next((stream for read in READERS if (stream := read(x, shuffle)) is not None), None)
