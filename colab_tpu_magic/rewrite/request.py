"""Read the arguments of a Keras call into a FitRequest, and refuse what cannot train."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import DataError, ModelError, nearest
from .prepared import KERAS_DEFAULT_BATCH_SIZE, FitRequest
from .sources import ArraySource, Source
from .streams import is_list_of_batches, list_of_batches, read_data

PASSED_ON = ("validation_freq",)


def arguments_of(keras_method: Callable[..., Any], model: Any, args: tuple, kwargs: dict) -> dict[str, Any]:
    """Return the call's arguments by name, defaults filled in; ``verbose`` only when it was given.

    Raises:
        TypeError: As Keras would, for arguments it does not have.
    """
    signature = inspect.signature(keras_method)
    try:
        bound = signature.bind(model, *args, **kwargs)
    except TypeError as error:
        unknown = [name for name in kwargs if name not in signature.parameters]
        hint = f"; did you mean {nearest(unknown[0], list(signature.parameters)).replace('-', '_')}?" if unknown else ""
        raise TypeError(f"Model.{keras_method.__name__}() {error}{hint}") from None
    given_verbose = "verbose" in bound.arguments
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    arguments.pop("self", None)
    if not given_verbose:
        arguments["verbose"] = None
    return arguments


def check_compiled(model: Any, method: str) -> None:
    """Raise ModelError when a model cannot be trained or evaluated yet."""
    if not getattr(model, "compiled", False):
        raise ModelError(
            f"model.{method} was called before model.compile.",
            expected="a compiled model.",
            type_next='model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])',
        )


def read_fit(model: Any, arguments: dict[str, Any]) -> FitRequest:
    """Return the request of a `fit` call.

    Raises:
        DataError: When the data cannot be used.
        ModelError: When the model cannot be trained.
    """
    check_compiled(model, "fit")
    if model.optimizer is None:
        raise ModelError(
            "The model was compiled without an optimizer.", type_next='model.compile(optimizer="adam", loss=...)'
        )
    for name in ("batch_size", "epochs", "steps_per_epoch", "validation_steps", "validation_batch_size"):
        _check_count(name, arguments[name])
    shuffle = bool(arguments["shuffle"])
    given, class_weight = arguments["batch_size"], arguments["class_weight"]
    parts = arguments["x"], arguments["y"], arguments["sample_weight"]
    data = read_data(*parts, class_weight, shuffle, given, model, most=_most_batches(arguments))
    _check_targets(model, data)
    validation = None
    if arguments["validation_data"] is not None:
        own, steps = arguments["validation_batch_size"] or given, arguments["validation_steps"]
        validation = read_validation(arguments["validation_data"], own, model, steps)
        _check_validation(validation, arguments)
        _check_targets(model, validation, "validation data", "model.fit(..., validation_data=(x_val, y_val))")
    elif arguments["validation_split"]:
        data, validation = split(data, float(arguments["validation_split"]))
        if class_weight is not None:  # as in Keras, they weigh what is trained on and not what it is validated on
            validation = replace(validation, tree=validation.tree[:2])
    batch_size = given or own_batch_size(data, arguments["steps_per_epoch"])
    if not isinstance(data, ArraySource):
        _check_stream(data, arguments)
        batch_size = data.batch_size
    callbacks = arguments["callbacks"] or ()
    return FitRequest(
        model=model,
        data=data,
        validation=validation,
        batch_size=int(batch_size),
        validation_batch_size=int(arguments["validation_batch_size"] or _validation_batch_size(validation, batch_size)),
        epochs=int(arguments["epochs"]),
        initial_epoch=int(arguments["initial_epoch"] or 0),
        steps_per_epoch=arguments["steps_per_epoch"],
        validation_steps=arguments["validation_steps"],
        shuffle=shuffle,
        callbacks=tuple(flat_callbacks(callbacks)),
        verbose=arguments["verbose"],
        passed_on={name: arguments[name] for name in PASSED_ON},
    )


def _check_count(name: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, float | np.floating) and 1 <= value < float("inf"):
        raise DataError(
            f"{name}={value!r} cannot be used.",
            expected="a positive whole number. In Python 3, // divides into one and / does not.",
            type_next=f"{name}={int(value)}",
        )
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise DataError(
            f"{name}={value!r} cannot be used.", expected="a positive whole number.", type_next=f"{name}=32"
        )


def _most_batches(arguments: dict[str, Any]) -> int | None:
    """Return how many batches of the user's the training takes, None for whole passes."""
    steps = arguments["steps_per_epoch"]
    return steps and steps * max(1, int(arguments["epochs"]) - int(arguments["initial_epoch"] or 0))


def read_validation(
    validation_data: Any, batch_size: int | None = None, model: Any = None, steps: int | None = None
) -> Source:
    """Return ``(x, y)``, ``(x, y, sample_weight)``, a dataset or a function that returns one as a source.

    Args:
        validation_data: As `fit` takes it.
        batch_size: Rows in a batch of a dataset of single rows, and for a function that asks for it.
        model: The model that is validated, where it is known.
        steps: Batches of a validation, or None for all.
    """
    if is_list_of_batches(validation_data):
        raise list_of_batches("validation_data", "validation_data=lambda: iter(batches)")
    if isinstance(validation_data, tuple | list):
        if not 1 <= len(validation_data) <= 3:
            raise DataError(
                f"validation_data has {len(validation_data)} parts.",
                expected="(x_val, y_val) or (x_val, y_val, sample_weight).",
                type_next="validation_data=(x_test, y_test)",
            )
        x, y, sample_weight = (*validation_data, None, None)[:3]
        return read_data(x, y, sample_weight, batch_size=batch_size, model=model, ahead=False, most=steps)
    return read_data(validation_data, batch_size=batch_size, model=model, ahead=False, most=steps)


def split(data: Source, share: float) -> tuple[ArraySource, ArraySource]:
    """Split off the last share of the rows for validation, before any shuffle, as Keras does."""
    if not isinstance(data, ArraySource):
        raise DataError(
            f"validation_split needs arrays, and x is a {data.form}.",
            expected=f"a second {data.form} with the rows to validate on.",
            type_next="model.fit(..., validation_data=...)",
        )
    if not 0 < share < 1:
        raise DataError(f"validation_split={share} cannot be used.", expected="a share between 0 and 1.")
    at = int(np.floor(data.rows * (1.0 - share)))
    if at == 0 or at == data.rows:
        raise DataError(
            f"validation_split={share} of {data.rows} rows leaves nothing to train or to validate on.",
            expected="at least one row on each side.",
        )
    return data.part(0, at), data.part(at, data.rows)


def _check_targets(model: Any, data: Source, what: str = "data", type_next: str = "model.fit(x, y)") -> None:
    import keras

    parts = data.tree if isinstance(data, ArraySource) else data.example
    own_step = any(
        getattr(type(model), name) is not getattr(keras.Model, name) for name in ("train_step", "compute_loss")
    )
    if len(parts) == 1 and getattr(model, "loss", None) is not None and not own_step:
        raise DataError(
            f"The {what} has no targets: y is missing, and the model was compiled with a loss.",
            expected="inputs and targets.",
            type_next=type_next,
        )


def own_batch_size(data: Source, steps: int | None = None) -> int:
    """Return the batch size that Keras would use when the call names none: that of so many steps over the rows, or 32."""
    if not isinstance(data, ArraySource):
        return data.batch_size
    return -(-data.rows // steps) if steps else KERAS_DEFAULT_BATCH_SIZE


def _validation_batch_size(validation: Source | None, batch_size: int) -> int:
    return validation.batch_size if validation is not None and not isinstance(validation, ArraySource) else batch_size


def _check_stream(data: Any, arguments: dict[str, Any]) -> None:
    if arguments["steps_per_epoch"]:
        return
    if data.infinite:
        raise DataError(
            f"The {data.form} never ends, so nobody knows where an epoch does.",
            expected="steps_per_epoch.",
            type_next="model.fit(..., steps_per_epoch=100)",
        )
    if data.once and int(arguments["epochs"]) > 1:
        raise DataError(
            f"The {data.form} can be read only once, and the fit has several epochs.",
            expected="the function that makes the generator, which is then called for each epoch; or steps_per_epoch "
            "with a generator that goes on.",
            type_next="model.fit(batches, epochs=5) where def batches(): ... yield x, y",
        )


def _check_validation(validation: Source, arguments: dict[str, Any]) -> None:
    """Refuse validation data that would never end, or that is gone after the first epoch."""
    if isinstance(validation, ArraySource) or arguments["validation_steps"]:
        return
    if validation.infinite:
        raise DataError(
            f"The {validation.form} of validation_data never ends.",
            expected="validation_steps.",
            type_next="model.fit(..., validation_steps=10)",
        )
    if validation.once and int(arguments["epochs"]) > 1:
        raise DataError(
            f"The {validation.form} of validation_data can be read only once, and the fit has several epochs.",
            expected="the function that makes the generator, or validation_steps with a generator that goes on.",
            type_next="model.fit(..., validation_data=batches) where def batches(): ... yield x, y",
        )


def flat_callbacks(callbacks: Any) -> list[Any]:
    """Return one callback, a list of lists of them, or a CallbackList as one flat list."""
    if not isinstance(callbacks, list | tuple):
        inner = getattr(callbacks, "callbacks", None)
        return list(inner) if inner is not None else [callbacks]
    return [
        one
        for callback in callbacks
        for one in (flat_callbacks(callback) if isinstance(callback, list | tuple) else [callback])
    ]
