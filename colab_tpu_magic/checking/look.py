"""Read a fit as `training/` would, taking no batch out of data that would notice it."""

from __future__ import annotations

import copy
import types
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from ..errors import DataError
from ..rewrite.forms import stream_of
from ..rewrite.forms.base import Stream
from ..rewrite.head import waits_for_data
from ..rewrite.prepared import KERAS_DEFAULT_BATCH_SIZE, FitRequest
from ..rewrite.request import read_fit
from ..rewrite.rules.batch_size import ROWS_PER_REPLICA
from ..rewrite.sources import Batch, Source, StreamSource, as_arrays, pack, rows_of
from ..rewrite.text_pipeline import text_pipeline
from .data_traps import chain_of, element_specs, is_dataset, is_single_rows

UNREAD = "no batch of "
UNREAD_TEXT = "its model begins with text, and a check runs its layers on no dataset, nor before the model is built"


def read_without_touching(
    model: Any, arguments: Mapping[str, Any], replicas: int
) -> tuple[FitRequest | None, list[str]]:
    """Return the request of a `fit`, and what could not be looked at.

    Arrays are read as they are. Of a tf.data.Dataset only the shapes are read, of a PyDataset one
    batch through a copy; a generator or an iterator is not touched at all.

    Args:
        model: The Keras model.
        arguments: The call's arguments by name, see `rewrite.request.arguments_of`.
        replicas: Devices that will run the step.

    Raises:
        DataError: When the data cannot be used.
        ModelError: When the model cannot be trained.
    """
    arguments = dict(arguments)
    if waits_for_data(model) or (text_pipeline(model) is not None and _stream(arguments["x"], model, None) is not None):
        return None, [UNREAD_TEXT]
    data, unseen = _stand_in(arguments["x"], model, replicas, "training data", arguments["batch_size"])
    validation = None
    if arguments["validation_data"] is not None and not isinstance(arguments["validation_data"], tuple | list):
        validation, more = _stand_in(arguments["validation_data"], model, replicas, "validation data")
        unseen += more
        if validation is not None or more:
            arguments["validation_data"] = None
    if data is None:
        return (None, unseen) if unseen else (_with(read_fit(model, arguments), None, validation), unseen)
    if arguments["y"] is not None:
        raise DataError(f"x is a {data.form}, and y was given beside it.", expected=f"targets inside the {data.form}.")
    if arguments["validation_split"]:
        raise DataError("validation_split needs arrays.", expected="validation_data=... with a dataset or a generator.")
    _check_end(data, arguments)
    parts = (*data.example, None, None)[:3]
    arguments |= dict(zip(("x", "y", "sample_weight"), parts)) | {"class_weight": None, "batch_size": None}
    return _with(read_fit(model, arguments), data, validation), unseen


def _with(request: FitRequest, data: StreamSource | None, validation: Source | None) -> FitRequest:
    if data is not None:
        request = replace(request, data=data, batch_size=data.batch_size)
    return request if validation is None else replace(request, validation=validation)


def _stand_in(
    x: Any, model: Any, replicas: int, what: str, size: int | None = None
) -> tuple[StreamSource | None, list[str]]:
    """Return a stream that has the shapes of the data and none of its batches; None for arrays."""
    import keras

    stream = _stream(x, model, size)
    if stream is None:
        return None, []
    example, unseen = None, []
    if is_dataset(x):
        example = _zeros_of_dataset(x, model, size)
        unseen = [f"the values in the {what}: of a {stream.form} only the shapes are read"]
    elif isinstance(x, keras.utils.PyDataset):
        example = _first_batch(x)
    if example is None:
        unseen = [f"{UNREAD}the {what}: reading one of the {stream.form} would use it up or change what comes next"]
        example = _zeros_of_model(model, ROWS_PER_REPLICA * replicas)
    if example is None:
        return None, unseen
    made = StreamSource(stream.form, _never, example, rows_of(example), stream.batches, stream.infinite, stream.once)
    return made, unseen


def _stream(x: Any, model: Any, size: int | None) -> Stream | None:
    """Return the form of the data without calling anything of the user's."""
    if isinstance(x, types.GeneratorType):
        return Stream("generator", _never, once=True)
    if isinstance(x, types.FunctionType | types.MethodType | types.BuiltinFunctionType):
        return Stream("function that makes the data", _never)
    found = stream_of(x, False, model, size)
    if found is None and hasattr(x, "__next__"):
        return Stream("iterator", _never, once=True)
    return found


def _never() -> NoReturn:
    raise AssertionError("A check reads no batch.")


def _zeros_of_dataset(dataset: Any, model: Any, size: int | None) -> Batch | None:
    import tensorflow as tf

    specs = element_specs(dataset)
    if any(spec.shape.rank is None or "Tensor" not in type(spec).__name__ for spec in specs):
        return None
    single = is_single_rows(dataset, model)
    rows = (size or KERAS_DEFAULT_BATCH_SIZE) if single else _rows_of_dataset(dataset)
    flat = [
        np.zeros(
            [rows, *(length or 1 for length in spec.shape.as_list()[0 if single else 1 :])], _numpy_dtype(spec.dtype)
        )
        for spec in specs
    ]
    packed = tf.nest.pack_sequence_as(dataset.element_spec, flat)
    return pack(*packed) if isinstance(packed, tuple) else pack(packed)


def _numpy_dtype(dtype: Any) -> Any:
    return np.dtype("float32") if dtype.name in ("string", "bfloat16") else dtype.as_numpy_dtype


def _rows_of_dataset(dataset: Any) -> int:
    """Return the rows of a batch: as the shape says, or as the last ``batch(…)`` in the chain does."""
    for part in chain_of(dataset):
        known = [spec.shape[0] for spec in element_specs(part) if spec.shape.rank]
        if known and known[0] is not None:
            return int(known[0])
        size = getattr(part, "_batch_size", None)
        if size is not None:
            return int(size)
    return KERAS_DEFAULT_BATCH_SIZE


def _first_batch(data: Any) -> Batch | None:
    """Return the first batch of a PyDataset, asked of a copy, so that its own counters stand still."""
    try:
        element = copy.copy(data)[0]
        x, y, weight = (*(element if isinstance(element, tuple | list) else (element,)), None, None)[:3]
        return pack(as_arrays(x, "x"), as_arrays(y, "y"), as_arrays(weight, "sample_weight"))
    except Exception:  # whatever the user's own code raises: the fit will show it
        return None


def _zeros_of_model(model: Any, rows: int) -> Batch | None:
    """Return a batch of the shapes that a built model takes and gives, None when they are not told."""
    import keras

    if not getattr(model, "built", False):
        return None
    try:
        inputs, outputs = model.inputs, model.outputs
    except AttributeError:
        return None
    if not inputs or not outputs:
        return None

    def zeros(tensor: Any) -> np.ndarray:
        return np.zeros(
            [rows, *(length or 1 for length in tensor.shape[1:])], keras.backend.standardize_dtype(tensor.dtype)
        )

    x, y = [zeros(tensor) for tensor in inputs], [zeros(tensor) for tensor in outputs]
    return pack(x[0] if len(x) == 1 else x, y[0] if len(y) == 1 else y)


def _check_end(data: StreamSource, arguments: Mapping[str, Any]) -> None:
    if arguments["steps_per_epoch"]:
        return
    if data.infinite:
        raise DataError(
            f"The {data.form} never ends, so nobody knows where an epoch does.",
            type_next="model.fit(..., steps_per_epoch=100)",
        )
    if data.once and int(arguments["epochs"]) > 1:
        raise DataError(
            f"The {data.form} can be read only once, and the fit has several epochs.",
            type_next="model.fit(generator, steps_per_epoch=100, epochs=5)",
        )
