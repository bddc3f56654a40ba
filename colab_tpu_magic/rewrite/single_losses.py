"""Find out of losses of the user's own whether they come as one number for all rows, and as a mean or a sum of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

Kind = Literal["rows", "mean", "sum", "unclear"]
"""``"rows"``: a number a row; ``"mean"``: one number, the same for each row taken twice; ``"sum"``: twice as much then."""

CLOSE = 1e-4


def own_losses(model: Any) -> list[Any]:
    """Return the losses that a model was compiled with and that are not Keras' own."""
    import keras

    losses = keras.tree.flatten(getattr(model, "loss", None))
    return [loss for loss in losses if not (loss is None or isinstance(loss, str) or is_keras_own(loss))]


def kinds_of_losses(model: Any, batch: Any) -> dict[str, Kind]:
    """Return what each loss of the user's own is, by name. Each is called on a few rows, on the host.

    Args:
        model: A compiled Keras model.
        batch: A batch of its data, ``(x, y, ...)``.
    """
    import keras

    losses = own_losses(model)
    alone = len(keras.tree.flatten(getattr(model, "loss", None))) == 1
    found: dict[str, Kind] = {}
    for loss in losses:
        function = loss.call if isinstance(loss, keras.losses.Loss) else loss
        rows = _rows(model, batch) if alone else None
        found[name_of(loss)] = "unclear" if rows is None else _kind(partial(_called, function, rows))
    return found


def _called(function: Callable[..., Any], rows: tuple[Any, Any], times: int) -> Any:
    return function(*_repeated(rows, times))


def kind_of_compute_loss(model: Any, batch: Any) -> Kind:
    """Return what the model's own ``compute_loss`` gives. The state it may change is put back.

    Args:
        model: A Keras model with a ``compute_loss`` of the user's own that calls none of Keras'.
        batch: A batch of its data.
    """
    import keras

    rows = _rows(model, batch)
    if rows is None:
        return "unclear"
    state = [*model.non_trainable_variables, *model.metrics_variables]
    before = [keras.ops.convert_to_numpy(variable) for variable in state]

    def loss(times: int) -> Any:
        y, y_pred = _repeated(rows, times)
        return type(model).compute_loss(model, x=_first(batch[0], times), y=y, y_pred=y_pred, sample_weight=None)

    try:
        return _kind(loss)
    finally:
        for variable, value in zip(state, before, strict=True):
            variable.assign(value)


def is_keras_own(thing: Any) -> bool:
    """Return whether a loss, a metric or a function comes from Keras."""
    module = getattr(thing, "__module__", None) or type(thing).__module__
    return str(module).split(".")[0] == "keras"


def name_of(thing: Any) -> str:
    """Return what a loss or a metric is called."""
    return str(getattr(thing, "name", None) or getattr(thing, "__name__", None) or type(thing).__name__)


def _rows(model: Any, batch: Any) -> tuple[Any, Any] | None:
    """Return the targets of one row, and what a model might say of it; None where its output has no fixed shape."""
    import keras

    outputs = keras.tree.flatten(getattr(model, "outputs", None) or [])
    targets = keras.tree.flatten(batch[1]) if len(batch) > 1 and batch[1] is not None else []
    if not outputs and targets and getattr(model, "built", False):
        # Of shapes alone: a call may count, or move what the model keeps.
        shapes = keras.tree.map_structure(lambda leaf: keras.KerasTensor((None, *leaf.shape[1:]), leaf.dtype), batch[0])
        try:
            outputs = keras.tree.flatten(model.compute_output_spec(shapes))
        except Exception:  # code of the user's own, which may take no such call: nothing is known
            return None
    if len(outputs) != 1 or len(targets) != 1 or None in outputs[0].shape[1:]:
        return None
    said = np.random.default_rng(0).uniform(0.1, 0.9, (1, *outputs[0].shape[1:])).astype("float32")
    target = np.asarray(targets[0])[:1]
    if target.ndim == 1 and said.ndim == 2:  # as Keras does for a column
        target = target[:, None]
    return target, said


def _first(x: Any, times: int) -> Any:
    import keras

    return keras.tree.map_structure(lambda leaf: np.repeat(np.asarray(leaf)[:1], times, axis=0), x)


def _repeated(rows: tuple[Any, Any], times: int) -> tuple[Any, Any]:
    import keras

    first, second = (keras.ops.convert_to_tensor(np.repeat(part, times, axis=0)) for part in rows)
    return first, second


def _kind(loss: Callable[[int], Any]) -> Kind:
    try:
        two, four = loss(2), loss(4)
        if len(two.shape):
            return "rows"
        one, other = float(two), float(four)
    except Exception:  # code of the user's own: what it raises here, it need not raise in a step
        return "unclear"
    near = CLOSE * max(abs(one), abs(other))
    if not np.isfinite([one, other]).all():
        return "unclear"
    if abs(other - one) <= near:
        return "mean"
    return "sum" if abs(other - 2 * one) <= 2 * near else "unclear"
