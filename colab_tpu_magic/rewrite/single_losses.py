"""Tell which losses of a model come as one number for all rows, and not as one a row."""

from __future__ import annotations

from typing import Any


def single_losses(model: Any, batch: Any) -> tuple[list[str], bool]:
    """Return the user's own losses that give one number, or may, by name; and whether that is certain.

    A loss is traced with tensors that have shapes and no values; nothing is computed, and no weight is read.

    Args:
        model: A compiled Keras model on TensorFlow.
        batch: A batch of its data, ``(x, y, ...)``.
    """
    import keras

    losses = own_losses(model)
    alone = len(losses) == 1 == len(keras.tree.flatten(getattr(model, "loss", None)))
    found, certain = [], True
    for loss in losses:
        ranks = _rank(model, loss, batch) if alone else None
        if ranks is None:
            certain = False
        if ranks in (None, 0):
            found.append(str(getattr(loss, "__name__", None) or getattr(loss, "name", None) or type(loss).__name__))
    return found, certain


def own_losses(model: Any) -> list[Any]:
    """Return the losses that a model was compiled with and that are not Keras' own."""
    import keras

    return [loss for loss in keras.tree.flatten(getattr(model, "loss", None)) if _is_users(loss)]


def _is_users(loss: Any) -> bool:
    if loss is None or isinstance(loss, str):
        return False
    module = getattr(loss, "__module__", None) or type(loss).__module__
    return str(module).split(".")[0] != "keras"


def _rank(model: Any, loss: Any, batch: Any) -> int | None:
    """Return how many axes a loss has before it is reduced; None where tracing does not tell."""
    import keras
    import tensorflow as tf

    outputs = keras.tree.flatten(getattr(model, "outputs", None) or [])
    targets = keras.tree.flatten(batch[1]) if len(batch) > 1 and batch[1] is not None else []
    if len(outputs) != 1 or len(targets) != 1:
        return None
    function = loss.call if isinstance(loss, keras.losses.Loss) else loss
    dtype = getattr(outputs[0], "dtype", "float32")
    specs = [
        tf.TensorSpec([None, *targets[0].shape[1:]], tf.as_dtype(targets[0].dtype)),
        tf.TensorSpec([None, *outputs[0].shape[1:]], dtype),
    ]
    if specs[0].shape.rank == 1 and specs[1].shape.rank == 2:  # as Keras does for a column
        specs[0] = tf.TensorSpec([None, 1], specs[0].dtype)
    try:
        traced = tf.function(function, autograph=False).get_concrete_function(*specs).structured_outputs
        rank = traced.shape.rank
    except Exception:  # code of the user's own: what it raises here, it need not raise in a step
        return None
    return None if rank is None else int(rank)
