"""The callback that fastprogress lacks: its two bars and its comment, moved as its documentation moves them."""

from __future__ import annotations

from typing import Any

import keras
from fastprogress import master_bar, progress_bar


class FastProgressBar(keras.callbacks.Callback):
    """Move the master bar with the epochs and its child with the batches, the loss beside it."""

    def on_train_begin(self, logs: Any = None) -> None:
        """Show the master bar."""
        self.master = master_bar(range(self.params["epochs"]))
        self.master.update(0)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Start the child."""
        self.bar = progress_bar(range(self.params["steps"]), parent=self.master)
        self.bar.update(0)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Move the child."""
        self.bar.comment = f"loss {logs['loss']:.4f}"
        self.bar.update(batch + 1)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Write a line and move the master bar."""
        self.master.write(f"Epoch {epoch + 1}: loss {logs['loss']:.4f}")
        self.master.update(epoch + 1)
