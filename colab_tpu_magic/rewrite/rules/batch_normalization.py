"""Rule ``batch-normalization``: a synchronized layer is an ordinary one on JAX, which sees the whole batch anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...backends.synchronized import was_synchronized
from ..model_parts import layers_of
from ..prepared import PreparedFit
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions


class BatchNormalizationRule(Rule):
    """Say that ``synchronized=True`` was left out where Keras does not take it."""

    id = "batch-normalization"
    title = "Batch normalization"
    why = (
        "JAX computes mean and variance over the global batch, so there is nothing to synchronize, and Keras refuses "
        "synchronized=True there."
    )
    source = "keras.io/api/layers/normalization_layers/batch_normalization, argument synchronized (2026)"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Record what was done when the layers were made."""
        count = sum(map(was_synchronized, layers_of(prepared.request.model)))
        if not count or runtime.engine.name != "jax":
            return prepared
        layers = "1 layer" if count == 1 else f"{count} layers"
        return prepared.but(self.change(f"synchronized=True in {layers}", "the same statistics without it"))
