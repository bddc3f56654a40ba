"""Read whatever a fit is given as rows or as a stream of batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

from ..errors import DataError
from ..files.paths import refuse_path
from .arrays import Conversion
from .arrays.records import read_records
from .buckets import lengths_of
from .forms import stream_of
from .forms.callables import call
from .open_axes import checked, open_axes, settled
from .padding import padding_for
from .sources import (
    ArraySource,
    Batch,
    Source,
    StreamSource,
    array_source,
    as_arrays,
    class_weights,
    no_rows,
    nothing,
    pack,
    rows_of,
)
from .text_pipeline import begins_with_text, text_pipeline

LOOK_AHEAD_BATCHES, LOOK_AHEAD_SECONDS, LOOK_AHEAD_BYTES = 32, 2.0, 2**28


def read_data(
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    class_weight: dict | None = None,
    shuffle: bool = False,
    batch_size: int | None = None,
    model: Any = None,
    ahead: bool = True,
    most: int | None = None,
) -> Source:
    """Return any data that Keras takes as a source.

    Args:
        x: Arrays, a tf.data.Dataset, a keras.utils.PyDataset, a torch DataLoader, a generator, or a function
            that returns one of them or ``(x, y)``.
        y: Targets, with arrays only.
        sample_weight: One weight per row, with arrays only.
        class_weight: Class index to weight.
        shuffle: Whether a PyDataset's batches come in a new order each pass, as in Keras.
        batch_size: The call's, for a dataset of single rows and for a function that asks for it.
        model: The model that gets the data, where it is known.
        ahead: Whether to read a few batches ahead to learn how lengths vary; otherwise only where the model does not
            tell which may.
        most: Batches that the call takes: what can be read once is read no further. None for all; 0 reads none ahead.

    Raises:
        DataError: When the data cannot be used.
    """
    refuse_path(x, begins_with_text(model))
    called = call(x, batch_size)
    alone = y is None and sample_weight is None
    stream = None
    if called is not None:
        if not alone:
            raise _beside("function")
        x, stream = called.result, called.passes()
        if isinstance(x, tuple) and 1 <= len(x) <= 3:
            alone = len(x) == 1
            x, y, sample_weight = (*x, None, None)[:3]
    if (records := read_records(x)) is not None:
        if not alone:
            raise _beside(type(x).__name__)
        x, y, sample_weight = (*records, None, None)[:3]
    _check_there(x, model)
    if alone and is_list_of_batches(x):
        raise list_of_batches("x", "model.fit(lambda: iter(batches))")
    pipeline = text_pipeline(model, x)
    padding = padding_for(model if pipeline is None else pipeline.rest)
    stream = stream or stream_of(x, shuffle, model, batch_size, padding)
    if stream is None:
        if pipeline is not None and x is not None:
            x = pipeline.rows(x)
        return array_source(x, y, sample_weight, class_weight)
    form = stream.form
    if not alone:
        raise _beside(form)
    conversions: list[Conversion] = []

    def packed(opened: Iterator[Any], noted: list[Conversion] | None = None) -> Iterator[Batch]:
        for element in opened:
            if pipeline is not None:
                element = pipeline.element(element)
            batch = _as_batch(element, form, class_weight, noted)
            yield batch if stream.fresh else _owned(batch)

    opened = iter(stream.open())
    free = stream.free
    if pipeline is not None:
        given = list(islice(opened, 1))
        free, opened = pipeline.free(given, free or ()), chain(given, opened)
    first_pass = packed(opened, conversions)
    looked = list(islice(first_pass, 1))
    if not looked:
        raise DataError(f"The {form} is empty.", expected="at least one batch.")
    first = looked[0]
    own = open_axes(model, first) if free is None and model is not None else None
    if own is not None:
        first_pass = checked(first_pass, first, own, form)
    if (ahead and any(axes is None or axes for axes in own or free or ())) or (own is not None and None in own):
        looked += _ahead(first_pass, first, most if stream.once or most == 0 else None)
    if own is not None:
        free = settled(own, looked)
    found = tuple(dict.fromkeys(conversions))
    # The pass that the first batch was read from is the first that is given out; its beginning is not made twice.
    kept = [chain(looked, first_pass)]

    def open_packed() -> Iterator[Batch]:
        if stream.once:
            return kept[0]
        if kept:
            return kept.pop()
        again = packed(iter(stream.open()))
        return again if own is None else checked(again, first, own, form)

    sized: Callable[[int, bool], Iterator[Batch]] | None = None
    if stream.sized is not None:
        make = stream.sized
        sized = lambda size, forever: packed(iter(make(size, forever)))  # noqa: E731
    return StreamSource(
        form,
        open_packed,
        first,
        rows_of(first),
        stream.batches,
        stream.infinite,
        stream.once,
        conversions=found,
        remark=stream.remark,
        rows=stream.rows,
        sized=sized,
        lengths=lengths_of(looked, free, stream.padding if stream.fresh and pipeline is None else padding)
        if free
        else None,
        done=stream.done,
    )


def _check_there(x: Any, model: Any) -> None:
    """Refuse data without a row, and a frame where the model takes its columns one by one.

    Raises:
        DataError: For such data; text without a row would fail on the way to numbers.
    """
    if isinstance(x, list | tuple) and not x:
        raise nothing()
    if isinstance(x, np.ndarray) and x.ndim and not len(x):
        raise no_rows()
    inputs = getattr(model, "inputs", None) or ()
    if type(x).__module__.split(".")[0] == "pandas" and getattr(x, "ndim", 1) == 2 and len(inputs) > 1:
        names = [str(tensor.name) for tensor in inputs]
        raise DataError(
            f"x is a {type(x).__name__}, one array for Keras, and the model takes {len(names)} inputs: {', '.join(names)}.",
            expected="an array for each input: of columns that are named like the inputs, a dict.",
            type_next="x = dict(x)"
            if set(names) <= set(map(str, x.columns))
            else f"x = {{{names[0]!r}: x[[...]], ...}}",
        )


def is_list_of_batches(x: Any) -> bool:
    """Return whether data is a list of ``(x, y)`` or ``(x, y, sample_weight)`` of arrays with rows."""
    if not isinstance(x, list) or not x:
        return False
    return all(
        isinstance(one, tuple) and len(one) in (2, 3) and all(getattr(part, "ndim", 0) for part in one) for one in x
    )


def list_of_batches(name: str, type_next: str) -> DataError:
    """Return what to say of a list of batches, which Keras takes for several inputs."""
    return DataError(
        f"{name} is a list of batches, and Keras takes a list for the inputs of one model.",
        expected="a function that gives the batches, one after the other.",
        type_next=type_next,
    )


def _ahead(batches: Iterator[Batch], first: Batch, most: int | None) -> list[Batch]:
    """Return a few batches behind the first, in which lengths are seen to vary or not."""
    import keras

    began, looked = time.perf_counter(), list[Batch]()
    left = max(0, (LOOK_AHEAD_BATCHES if most is None else min(LOOK_AHEAD_BATCHES, most)) - 1)
    each = sum(leaf.nbytes for leaf in keras.tree.flatten(first))
    for batch in islice(batches, min(left, LOOK_AHEAD_BYTES // max(each, 1))):
        looked.append(batch)
        if time.perf_counter() - began > LOOK_AHEAD_SECONDS:
            break
    return looked


def bounded(source: Source, steps: int | None, batch_size: int, what: str) -> tuple[Source, int | None]:
    """Return a source of as many batches as were asked for, and the most rows to read, None for all.

    Args:
        source: The data of an evaluation or a prediction.
        steps: Batches of the user's, or None for all.
        batch_size: The user's batch size, rows.
        what: The argument that is missing when the data never ends: ``"steps"``.

    Raises:
        DataError: When the data never ends and nobody said how much of it to read.
    """
    if isinstance(source, ArraySource):
        return source, steps * batch_size if steps else None
    if steps:
        return source.first(steps), None
    if source.infinite:
        raise DataError(f"The {source.form} never ends.", expected=f"{what}.", type_next=f"{what}=100")
    return source, None


def _owned(batch: Batch) -> Batch:
    """Return a batch as arrays of our own: it is read ahead, and its maker may fill the same arrays for the next."""
    import keras

    return keras.tree.map_structure(lambda leaf: np.array(leaf) if isinstance(leaf, np.ndarray) else leaf, batch)


def _beside(form: str) -> DataError:
    return DataError(
        f"x is a {form}, and y or sample_weight was given beside it.",
        expected=f"targets and weights inside the {form}.",
    )


def _as_batch(element: Any, form: str, class_weight: dict | None, conversions: list[Conversion] | None = None) -> Batch:
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
    if _has_scalar(x) or _has_scalar(y):
        batched = "dataset.batch(32)" if "data" in form.lower() else "yield x[None], y[None], or many rows at a time"
        raise DataError(f"The {form} gives single rows.", expected="batches of rows.", type_next=batched)
    if class_weight is not None and weight is not None:
        raise DataError(
            f"class_weight was given, and the {form} gives sample weights.", expected="one of the two, as in Keras."
        )
    x, y, weight = (
        _made(as_arrays(part, name, conversions)) for part, name in ((x, "x"), (y, "y"), (weight, "sample_weight"))
    )
    if class_weight is not None:
        weight = class_weights(y, class_weight)
    rows = {leaf.shape[0] for leaf in keras.tree.flatten((x, y, weight)) if leaf is not None}
    if len(rows) > 1:
        raise DataError(
            f"A batch of the {form} has parts of {' and '.join(map(str, sorted(rows)))} rows.",
            expected="as many rows in y (and weights) as in x.",
        )
    return pack(x, y, weight)


def _has_scalar(part: Any) -> bool:
    """Return whether a part of a batch is a number, which is one row's and not a batch's."""
    if isinstance(part, dict):
        return any(map(_has_scalar, part.values()))
    return part is not None and (np.isscalar(part) or len(getattr(part, "shape", "?")) == 0)


def _made(part: Any) -> Any:
    """Return a part of a batch with sparse and ragged rows made."""
    import keras

    return None if part is None else keras.tree.map_structure(np.asarray, part)
