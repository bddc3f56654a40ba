"""Rule ``jit-compile``: no XLA inside a tf.distribute strategy's own compilation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..prepared import PreparedFit
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions


class JitCompile(Rule):
    """Set ``jit_compile=False`` where a strategy compiles the step itself."""

    id = "jit-compile"
    title = "jit_compile off"
    why = (
        "TPUStrategy compiles the whole step for the TPU itself; a second jit inside it fails with "
        '"could not find registered transfer manager for platform Host".'
    )
    source = "keras#19448, colabtools#5124 (2024)"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Switch it off when the backend asks for that and the model has it on."""
        wanted = runtime.engine.jit_compile
        if wanted is None or prepared.replicas == 1:
            return prepared
        if bool(prepared.request.model.jit_compile) == wanted:
            return prepared
        return prepared.but(self.change("jit_compile=True", f"jit_compile={wanted}"), jit_compile=wanted)
