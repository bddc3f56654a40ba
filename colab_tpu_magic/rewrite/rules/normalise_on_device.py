"""Rule ``normalise-on-device``: inputs of few values travel as bytes and become floats on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...backends.base import GPU, TPU
from ...errors import OptionError
from ..codes import coded
from ..prepared import PreparedFit
from ..sources import ArraySource
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions


class NormaliseOnDevice(Rule):
    """Hold uint8 codes of the training inputs, where each float32 value is one of at most 256 on even steps."""

    id = "normalise-on-device"
    title = "Bytes on the way"
    why = (
        "Pixels that were divided on the host travel as four bytes each. Where every value of all rows is proven to be "
        "one of at most 256, its number travels as one byte and the device looks up the same float32, bit for bit."
    )
    source = "keras.io/api/layers/preprocessing_layers, whose Rescaling does the same inside the model (2026)"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Write the inputs as codes where that is the same and saves a transfer.

        Raises:
            OptionError: When it was asked for on TensorFlow.
        """
        asked = options.normalise_on_device
        if runtime.backend != "jax":
            if asked:
                raise OptionError(
                    "--normalise-on-device has no effect on the TensorFlow backend.",
                    expected="the JAX backend, or the layer that does it anywhere.",
                    type_next="keras.layers.Rescaling(1 / 255) as the model's first layer, and x as uint8",
                )
            return prepared
        if not (asked or runtime.kind in (TPU, GPU)) or not isinstance(prepared.data, ArraySource):
            return prepared
        if not all(leaves_data_alone(callback) for callback in prepared.request.callbacks):
            return prepared
        found = coded(prepared.data)
        if found is None:
            return prepared
        size = found.row_bytes * prepared.batch_size
        values = " and ".join(str(count) for count in found.values)
        change = self.change(
            f"float32, {_size(4 * size)} a batch",
            f"uint8 codes, {_size(size)} a batch, made float32 again on the device "
            f"({values} values, checked for all {prepared.data.rows:,} rows)",
        )
        return prepared.but(change, coded=found)


def leaves_data_alone(callback: Any) -> bool:
    """Return whether a callback is one of Keras' own, and so does not write into x while it trains."""
    kind = type(callback)
    return kind.__module__.startswith("keras.src.callbacks.") and kind.__name__ != "LambdaCallback"


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1_000_000 else f"{count / 1e3:,.1f} KB"
