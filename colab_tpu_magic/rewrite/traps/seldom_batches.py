"""Trap ``batches-told-in-groups``: a callback for batches hears of several steps at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..batch_hooks import wants_every_batch
from ..finding import Finding
from ..prepared import PreparedFit
from .base import Trap

if TYPE_CHECKING:
    from ...backends.base import Runtime


class SeldomBatches(Trap):
    """A callback that wants every batch hears of several at once when several steps go out together."""

    id = "batches-told-in-groups"
    title = "Callbacks and several steps per execution"
    source = "keras.io/api/callbacks (2026): batch hooks run every steps_per_execution batches; keras#17589"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Look for hooks where more than one step goes out at a time."""
        steps = prepared.steps_per_execution or int(prepared.request.model.steps_per_execution)
        names = wants_every_batch(prepared.request.callbacks)
        if steps == 1 or not names:
            return []
        who = " and ".join(dict.fromkeys(names))
        return [
            self.finding(
                "warning",
                f"{who} {'is' if len(set(names)) == 1 else 'are'} told of batches every {steps} steps only, because "
                f"{steps} steps go out at once; counts by batch are as much coarser.",
                "%%tpu_fit --steps-per-execution 1",
            )
        ]
