"""Read whatever a fit is given as rows or as a stream of batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from ..errors import DataError
from ..files.paths import refuse_path
from .buckets import lengths_of
from .forms import stream_of
from .padding import padding_for
from .sources import Batch, Source, StreamSource, array_source, as_arrays, class_weights, pack, rows_of

LOOK_AHEAD_BATCHES, LOOK_AHEAD_SECONDS = 32, 2.0


def read_data(
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    class_weight: dict | None = None,
    shuffle: bool = False,
    model: Any = None,
    batch_size: int | None = None,
    ahead: bool = True,
) -> Source:
    """Return any data that Keras takes as a source.

    Args:
        x: Arrays, a tf.data.Dataset, a keras.utils.PyDataset, a torch DataLoader or a generator.
        y: Targets, with arrays only.
        sample_weight: One weight per row, with arrays only.
        class_weight: Class index to weight.
        shuffle: Whether a PyDataset's batches come in a new order each pass, as in Keras.
        model: The model that gets the data, where it is known.
        batch_size: The call's batch size, for a dataset of single rows.
        ahead: Whether to read a few batches ahead to learn which lengths vary; one batch otherwise.

    Raises:
        DataError: When the data cannot be used.
    """
    refuse_path(x)
    stream = stream_of(x, shuffle, model, batch_size, padding_for(model))
    if stream is None:
        return array_source(x, y, sample_weight, class_weight)
    form = stream.form
    if y is not None or sample_weight is not None:
        raise DataError(
            f"x is a {form}, and y or sample_weight was given beside it.",
            expected=f"targets and weights inside the {form}.",
        )

    def open_packed() -> Iterator[Batch]:
        for element in stream.open():
            yield _as_batch(element, form, class_weight)

    looked = _looked_at(open_packed(), ahead and bool(stream.free))
    first = looked[0] if looked else None
    if first is None:
        raise DataError(f"The {form} is empty.", expected="at least one batch.")
    opener: Callable[[], Iterator[Batch]] = open_packed
    if stream.once:
        rest = chain([first], open_packed())
        opener = lambda: rest  # noqa: E731
    sized: Callable[[int, bool], Iterator[Batch]] | None = None
    if stream.sized is not None:
        make = stream.sized
        sized = lambda size, forever: (_as_batch(one, form, class_weight) for one in make(size, forever))  # noqa: E731
    return StreamSource(
        form,
        opener,
        first,
        rows_of(first),
        stream.batches,
        stream.infinite,
        stream.once,
        rows=stream.rows,
        sized=sized,
        lengths=lengths_of(looked, stream.free, stream.padding) if stream.free else None,
        done=stream.done,
    )


def _looked_at(batches: Iterator[Batch], ahead: bool) -> list[Batch]:
    """Return the first batch, or with ``ahead`` the first few, in which lengths are seen to vary or not."""
    began, looked = time.perf_counter(), []
    for batch in batches:
        looked.append(batch)
        if not ahead or len(looked) == LOOK_AHEAD_BATCHES or time.perf_counter() - began > LOOK_AHEAD_SECONDS:
            break
    return looked


def _as_batch(element: Any, form: str, class_weight: dict | None) -> Batch:
    import keras

    if isinstance(element, list):
        element = tuple(element)
    if not isinstance(element, tuple):
        element = (element,)
    if not 1 <= len(element) <= 3:
        raise DataError(
            f"A batch of the {form} has {len(element)} parts.", expected="(x,), (x, y) or (x, y, sample_weight)."
        )
    x, y, weight = (*element, None, None)[:3]
    if any(np.ndim(leaf) == 0 for leaf in keras.tree.flatten((x, y)) if leaf is not None):
        raise DataError(f"The {form} gives single rows.", expected="batches of rows.", type_next="dataset.batch(32)")
    x, y, weight = as_arrays(x, "x"), as_arrays(y, "y"), as_arrays(weight, "sample_weight")
    if class_weight is not None and weight is None:
        weight = class_weights(y, class_weight)
    return pack(x, y, weight)
