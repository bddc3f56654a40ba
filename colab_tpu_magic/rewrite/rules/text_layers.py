"""Rule ``text-layers``: the layers of text that a model begins with run in the data pipeline, on the host's CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arrays.text import MadeRows
from ..prepared import PreparedFit
from ..sources import ArraySource
from ..text_pipeline import TextPipeline, text_pipeline
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions


class TextLayers(Rule):
    """Turn each batch of text into numbers on the host, and train the model from the next layer on."""

    id = "text-layers"
    title = "Text on the host"
    why = (
        "A TPU computes with numbers only. The model's own first layers turn each batch of text into numbers on the CPU "
        "while the device trains; the model stays yours and whole."
    )
    source = "keras.io/guides/preprocessing_layers, preprocessing in the tf.data pipeline or inside the model (2026)"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Say which layers were taken out; reading the data has taken them."""
        pipeline = text_pipeline(prepared.request.model)
        if pipeline is None:
            return prepared
        after = "run on the CPU for each batch, and the model trains from the layer after them"
        longest = longest_of(prepared)
        if longest is not None:
            after += f"; rows padded with zeros to the longest, {longest:,}"
        change = self.change(f"{layers_text(pipeline)} inside the model", after, self._why(pipeline, longest))
        return prepared.but(change, text=pipeline)

    def _why(self, pipeline: TextPipeline, longest: int | None) -> str:
        from ..padding import padding_for

        if longest is None:
            return ""
        proof = padding_for(pipeline.rest).proof
        said = (
            f"The padding changes no result: {proof}."
            if proof
            else "No mask hides the padding, so it can change results."
        )
        return f"A TPU computes with numbers only, of one shape. {said}"


def longest_of(prepared: PreparedFit) -> int | None:
    """Return how long rows of text are made where the layers do not say it, None where they do."""
    import keras

    if not isinstance(prepared.request.data, ArraySource):
        return None
    leaves = keras.tree.flatten(prepared.request.data.tree)
    return max(
        (leaf.longest for leaf in leaves if isinstance(leaf, MadeRows) and leaf.longest is not None), default=None
    )


def layers_text(pipeline: Any) -> str:
    """Return the layers by name and kind: ``"words (TextVectorization)"``."""
    return ", ".join(f"{layer.name} ({type(layer).__name__})" for layer in pipeline.head.layers)
