"""Rule ``input-pipeline``: whole batches gathered ahead of time, shuffled over all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..buffers import SLOTS
from ..done import done_for
from ..feed import PREFETCH
from ..gather import BLOCKS, block_of
from ..prepared import PreparedFit
from ..sources import ArraySource
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions


class InputPipeline(Rule):
    """Gather each batch in one copy, in a thread, while the device computes the last one."""

    id = "input-pipeline"
    title = "Input pipeline"
    why = (
        "A TPU waits for data more often than for arithmetic. Each batch is gathered in one copy over a shuffle of "
        "all rows, in a thread, while the step before it computes."
    )
    why_batches = (
        "A TPU waits for data more often than for arithmetic. The batches are read in a thread while the step before "
        "computes; their order, and how far they are shuffled, stays your own."
    )
    source = "the 2018 article (feeding the TPU is the hard part); keras.io/api/data_loading"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Make batches ahead."""
        if isinstance(prepared.data, ArraySource):
            before, order = (
                "rows picked as Keras does",
                "all rows shuffled" if prepared.request.shuffle else "rows in order",
            )
            block = block_of(prepared.data, prepared.batch_size) if runtime.engine.step_takes_batches else 1
            most = BLOCKS * block if block > 1 else SLOTS
            after = f"{order}, gathered in bulk, at most {most} batches in memory"
        else:
            form, remark, prepared = prepared.data.form, prepared.data.remark, self._read(prepared)
            before = f"{form} as it is"
            after = f"read in a thread, batches of {prepared.batch_size:,} cut from it, {PREFETCH} ahead"
            if remark:
                after += f"; {remark}"
            return prepared.but(self.change(before, after, self.why_batches), prefetch=PREFETCH)
        return prepared.but(self.change(before, after), prefetch=PREFETCH)

    def skip(self, prepared: PreparedFit) -> PreparedFit:
        """Record what the data could not be read without."""
        return self._read(prepared)

    def _read(self, prepared: PreparedFit) -> PreparedFit:
        for done in done_for(self.id, prepared.data):
            prepared = prepared.but(self.change(done.before, done.after, done.why, done.switch))
        return prepared
