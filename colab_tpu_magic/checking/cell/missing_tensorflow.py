"""Trap ``no-tensorflow`` in text: TensorFlow is imported where it is not installed."""

from __future__ import annotations

from ...backends.versions import TENSORFLOW_WHEELS
from ...rewrite.finding import Finding
from .base import CellText, CellTrap


class MissingTensorflow(CellTrap):
    """Colab's TPU runtime has had no TensorFlow since March 2025; Keras 3 trains there on JAX.

    Installing the ordinary wheel makes the import work and cannot reach the TPU: training ends in "No OpKernel
    was registered to support Op 'ConfigureDistributedTPU'". ``import keras`` in place of ``tf.keras`` is the
    same Keras 3 and needs no TensorFlow.
    """

    id = "no-tensorflow"
    title = "No TensorFlow here"
    source = "colabtools#5164, colabtools#5174, colabtools#5203; googlecolab/backend-info, August 2026"

    def look(self, cell: CellText) -> list[Finding]:
        """Look for an import of TensorFlow on a machine without it."""
        if any(cell.environment.version(wheel) for wheel in TENSORFLOW_WHEELS):
            return []
        found = [node for node, name in cell.imports() if name.partition(".")[0] == "tensorflow"]
        message = "TensorFlow is imported, and it is not installed here; Keras 3 on JAX trains the same code."
        return [self.finding_at("error", node, message, "import keras") for node in found[:1]]
