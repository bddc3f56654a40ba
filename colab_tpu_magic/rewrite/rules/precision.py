"""Rule ``precision``: what the layers compute in, when the user asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..prepared import PreparedFit
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions


class Precision(Rule):
    """Compute in bfloat16 with float32 weights, or in float32, for the length of the fit."""

    id = "precision"
    title = "Precision"
    why = (
        "The matrix unit multiplies bfloat16 at full speed, and activations take half the memory. "
        "Weights stay float32, and so does the last layer."
    )
    source = "cloud.google.com/tpu/docs/bfloat16 (2026); keras.io/api/mixed_precision"

    @property
    def switch(self) -> str:
        """What to type to keep the user's precision."""
        return "--precision keep"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Record the precision that was asked for; the training loop sets it."""
        if options.precision == "keep":
            return prepared
        computing = sorted(
            {layer.compute_dtype for layer in prepared.request.model._flatten_layers() if layer.variables}
        )
        if computing == [options.precision]:
            return prepared
        before = ", ".join(computing) or "float32"
        because = getattr(options, "because", "")  # of a plan: then keep is what was given already
        switch = "--no precision" if because else ""
        change = self.change(before, f"{options.precision} arithmetic", because, switch)
        return prepared.but(change, precision=options.precision)
