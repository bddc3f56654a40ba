"""Trap ``batch-callbacks`` in text: Python that runs after every step, and a save_freq in batches."""

from __future__ import annotations

import ast

from ...rewrite.finding import Finding
from .base import CellText, CellTrap, argument, dotted

HOOKS = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")


class BatchCallbacks(CellTrap):
    """A callback with a hook for batches stops the host after every step and, where it reads a figure, the device.

    A TPU makes hundreds of small steps a second; a hook that prints or draws makes it ten. The hooks for epochs
    cost nothing. ``save_freq`` as a number counts batches, and counts wrongly with steps_per_execution above 1.
    """

    id = "batch-callbacks"
    title = "Python after every step"
    source = "tensorflow#37876, keras#17589"

    def look(self, cell: CellText) -> list[Finding]:
        """Look for the hooks and for a save_freq that is a number."""
        found = []
        for node in ast.walk(cell.tree):
            if isinstance(node, ast.ClassDef) and any(dotted(base).endswith("Callback") for base in node.bases):
                hook = next((part for part in node.body if getattr(part, "name", "") in HOOKS), None)
                if hook is not None:
                    message = f"{node.name}.{getattr(hook, 'name', '')} runs after every step, and the next step waits for it."
                    found.append(self.finding_at("note", hook, message, "def on_epoch_end(self, epoch, logs=None):"))
        for call, name in cell.calls():
            if name.endswith("LambdaCallback") and any(keyword.arg in HOOKS for keyword in call.keywords):
                message = "the LambdaCallback runs after every step, and the next step waits for it."
                found.append(self.finding_at("note", call, message, "LambdaCallback(on_epoch_end=...)"))
            frequency = argument(call, "save_freq")
            if name.endswith("ModelCheckpoint") and isinstance(getattr(frequency, "value", None), int):
                message = "save_freq as a number counts batches, and the batch size may change for the TPU."
                found.append(self.finding_at("note", call, message, 'ModelCheckpoint(..., save_freq="epoch")'))
        return found
