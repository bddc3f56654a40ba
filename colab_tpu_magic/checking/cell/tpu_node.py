"""Trap ``tpu-node`` in text: the address of a TPU node on the network."""

from __future__ import annotations

from ...rewrite.finding import Finding
from .base import CellText, CellTrap


class TpuNode(CellTrap):
    """Once the TPU of a notebook was another machine, at ``grpc://`` and the address in ``COLAB_TPU_ADDR``.

    That machine could not see the notebook's disk: local files ended in "File system scheme '[local]' not
    implemented". Today the TPU is in the notebook's own machine, local files are read, and the address is gone.
    """

    id = "tpu-node"
    title = "Address of an old TPU node"
    source = "tensorflow#32651; Colab's move to TPU VMs, colabtools#5566"

    def look(self, cell: CellText) -> list[Finding]:
        """Look for the address and for the variable that held it."""
        found = [node for node, text in cell.strings() if text == "COLAB_TPU_ADDR" or text.startswith("grpc://")]
        if not found:
            return []
        message = (
            "the code looks for a TPU node at a network address; there are none any more. The TPU is in this machine, "
            "which also reads local files ([local])."
        )
        return [self.finding_at("error", found[0], message, "%tpu_connect")]
