"""Keras' list of callbacks with a watcher in front of it that costs next to nothing.

Keras hands the end of every batch to a thread pool, whether or not a callback wants it (keras
3.10 to 3.15; 45 to 52 µs of CPU a batch with keras 3.15.1, November 2026, and a thread that wakes up while the host should feed the
device). Here the batches of a fit in which no callback asks for them go straight to the watcher.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import keras

from ..rewrite.batch_hooks import has_batch_hooks, is_keras_own


class Watcher(Protocol):
    """What is told of each step, on the thread that trains, before the step begins."""

    def step_begins(self, batch: int) -> None:
        """Look at a training step; ``batch`` is its index in the epoch."""

    def test_step_begins(self, batch: int) -> None:
        """Look at a validation step."""


class WatchedCallbacks(keras.callbacks.CallbackList):
    """Call a watcher before each step, and the callbacks that want it as Keras does.

    Args:
        watcher: Told of each step first.
        callbacks: The user's callbacks, and those that only want epochs.
        **params: As for ``keras.callbacks.CallbackList``.

    Example:
        >>> model.fit(x, y, callbacks=WatchedCallbacks(monitor, [monitor], model=model))  # doctest: +SKIP
    """

    def __init__(self, watcher: Watcher, callbacks: Iterable[Any], **params: Any) -> None:
        super().__init__(list(callbacks), **params)
        # Shadows of the methods below them where nothing is to be done: a call to them is a call saved.
        self._step_begins = watcher.step_begins
        self._test_step_begins = watcher.test_step_begins
        # On JAX the weights are outside the model in mid-epoch. Keras puts them back for a callback that says
        # self.model; one that holds the model by another name would meet arrays that are gone.
        own = any(has_batch_hooks(callback) and not is_keras_own(callback) for callback in self.callbacks)
        self._sync = getattr(params.get("model"), "jax_state_sync", None) if own else None
        self._wants_train = self._wanted("train")
        self._wants_test = self._wanted("test")

    def _wanted(self, kind: str) -> bool:
        names = [f"on_{kind}_batch_begin", f"on_{kind}_batch_end"]
        if kind == "train":
            names += ["on_batch_begin", "on_batch_end"]
        return any(
            getattr(getattr(callback, name, None), "__func__", None) is not getattr(keras.callbacks.Callback, name)
            for callback in self.callbacks
            for name in names
        )

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Tell the watcher, then the callbacks that want it."""
        self._step_begins(batch)
        if self._wants_train:
            if self._sync is not None:
                self._sync()
            super().on_train_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Tell the callbacks that want it."""
        if self._wants_train:
            if self._sync is not None:
                self._sync()
            super().on_train_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Tell the watcher, then the callbacks that want it."""
        self._test_step_begins(batch)
        if self._wants_test:
            super().on_test_batch_begin(batch, logs)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Tell the callbacks that want it."""
        if self._wants_test:
            super().on_test_batch_end(batch, logs)
