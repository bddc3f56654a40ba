"""Rule ``scope``: the model trains on every replica, moved there in place, never cloned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..prepared import PreparedFit
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions


class Scope(Rule):
    """Put the variables of the model, its optimizer and its metrics on the replicas."""

    id = "scope"
    title = "Model on every replica"
    why = (
        "Each replica needs its own copy of every weight to compute its share of the batch. "
        "The variables of your own model object were moved; nothing was cloned, and they come back after the cell."
    )
    source = "keras.io/guides/distribution (data parallel); tensorflow#37054 (variables made outside the scope)"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Record the move when there is more than one replica; the training loop makes it."""
        if runtime.replicas == 1:
            return prepared
        after = f"{runtime.replicas} replicas, in place"
        if runtime.engine.settles and any(layer.non_trainable_variables for layer in prepared.request.model.layers):
            after += "; moving statistics averaged every epoch"
        return prepared.but(self.change("one device", after))

    def skip(self, prepared: PreparedFit) -> PreparedFit:
        """Leave the model on the one device where it is."""
        return prepared.but(on_replicas=False, replicas=1)
