"""Tell which callbacks have to hear of every single batch.

Tried on the callbacks of keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

from typing import Any

HOOKS = ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end")


def wants_every_batch(callbacks: tuple[Any, ...]) -> list[str]:
    """Return the names of the callbacks that would notice when several steps ran between two of their calls.

    Keras' own ModelCheckpoint, BackupAndRestore and TensorBoard have hooks for batches and use
    them only when asked to, with ``save_freq=100`` or ``update_freq="batch"``.

    Example:
        >>> import keras
        >>> wants_every_batch((keras.callbacks.ModelCheckpoint("a.keras"), keras.callbacks.TerminateOnNaN()))
        ['TerminateOnNaN']
    """
    return [type(callback).__name__ for callback in callbacks if _wants(callback)]


def is_keras_own(callback: Any) -> bool:
    """Return whether a callback is Keras' own and not a LambdaCallback, which runs the user's functions."""
    import keras

    return type(callback).__module__.split(".")[0] == "keras" and not isinstance(
        callback, keras.callbacks.LambdaCallback
    )


def has_batch_hooks(callback: Any) -> bool:
    """Return whether a callback defines a hook for training batches."""
    import keras

    base = keras.callbacks.Callback
    return any(
        getattr(getattr(callback, hook, None), "__func__", None) is not getattr(base, hook, None) for hook in HOOKS
    )


def _wants(callback: Any) -> bool:
    import keras

    kinds = keras.callbacks
    if not has_batch_hooks(callback):
        return False
    if type(callback) in (kinds.ModelCheckpoint, kinds.BackupAndRestore):
        return isinstance(getattr(callback, "save_freq", None), int) and callback.save_freq is not False
    if type(callback) is kinds.TensorBoard:
        return callback.update_freq != "epoch"
    # The progress bar is told of the last step of several, which is all it shows.
    return not isinstance(callback, kinds.ProgbarLogger)
