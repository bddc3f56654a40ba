"""What rows may be padded with: what the model masks, so that nothing changes, or 0."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .buckets import Buckets, Padding
from .sources import Source, StreamSource


def padding_for(model: Any) -> Padding:
    """Return what to pad a model's inputs with, and why that changes no result, where it is known.

    A mask goes on from layer to layer only through layers that support masks; behind one that
    does not, padded steps count like any other.

    Example:
        >>> padding_for(None)
        Padding(value=0.0, proof='')
    """
    import keras

    if model is None:
        return Padding()
    every = model._flatten_layers(include_self=False)
    makers = [(layer, value) for layer in every if (value := _mask_value(layer)) is not None]
    if len({value for _, value in makers}) != 1:
        return Padding()
    maker, value = makers[0]
    if not _passes_masks_on(model):
        return Padding(value)
    name = type(maker).__name__ + (" mask_zero" if isinstance(maker, keras.layers.Embedding) else "")
    return Padding(value, f"the model masks {value:g} ({name})")


def _passes_masks_on(layer: Any) -> bool:
    """Return whether a mask reaches every layer that follows; what a model's own ``call`` does is not known."""
    import keras

    if not isinstance(layer, keras.Model):
        return isinstance(layer, keras.layers.InputLayer) or bool(layer.supports_masking)
    own_call = not type(layer).__module__.startswith("keras.")
    return not own_call and all(map(_passes_masks_on, layer.layers))


def _mask_value(layer: Any) -> float | None:
    import keras

    if isinstance(layer, keras.layers.Masking):
        return float(layer.mask_value)
    return 0.0 if isinstance(layer, keras.layers.Embedding) and layer.mask_zero else None


def in_buckets(source: Source, only_proven: bool = False) -> Source:
    """Return a source whose batches come in a few lengths; the same source when its lengths are fixed.

    Args:
        source: Any data.
        only_proven: Leave lengths alone where padding could change a figure.
    """
    if not isinstance(source, StreamSource) or source.lengths is None or source.buckets is not None:
        return source
    if only_proven and not source.lengths.padding.proof:
        return source
    return replace(source, buckets=Buckets.of(source.lengths))
