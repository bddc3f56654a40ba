"""Rule ``dense-arrays``: sparse, ragged and categorical data becomes plain arrays of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import DataError
from ..prepared import PreparedFit
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions


class DenseArrays(Rule):
    """Say what was made of data that is no plain array of numbers; reading it has made it so."""

    id = "dense-arrays"
    title = "Plain arrays"
    why = (
        "A TPU multiplies dense arrays of numbers of one shape. Sparse and ragged rows are made so batch by batch, "
        "never all at once, and so are numbers whose bytes lie in another order than the machine's. Zeros that pad a "
        "row are values like others unless the model masks them."
    )
    source = (
        "cloud.google.com/tpu/docs/performance-guide, static shapes (2026); keras.io/api/layers/core_layers/masking"
    )

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Record each conversion."""
        conversions = tuple(dict.fromkeys(prepared.data.conversions))
        if not conversions:
            return prepared
        before = "; ".join(conversion.before for conversion in conversions)
        after = "; ".join(dict.fromkeys(conversion.after for conversion in conversions))
        return prepared.but(self.change(before, after))

    def skip(self, prepared: PreparedFit) -> PreparedFit:
        """Refuse data that would need the rule."""
        for conversion in prepared.data.conversions:
            raise DataError(
                f"{conversion.before}, and --no {self.id} keeps it so.",
                expected="plain arrays of numbers: a TPU has no others.",
                type_next=conversion.by_hand,
            )
        return prepared
