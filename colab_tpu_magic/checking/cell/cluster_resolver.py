"""Trap ``cluster-resolver``: TPUClusterResolver without the name of a TPU."""

from __future__ import annotations

from ...rewrite.finding import Finding
from .base import CellText, CellTrap, argument, text_of


class ClusterResolver(CellTrap):
    """Without an argument, TPUClusterResolver looks for a TPU node on the network; there are none any more.

    On today's machines the TPU is in the same machine as the notebook. Without its name, ``"local"``, the call ends
    in "Please provide a TPU Name to connect to". ``%tpu_connect`` does all that such a block is written for.
    """

    id = "cluster-resolver"
    title = "TPUClusterResolver() without a name"
    source = "tensorflow#70827"

    def look(self, cell: CellText) -> list[Finding]:
        """Look for the call without an argument, or with an empty one."""
        message = "TPUClusterResolver() without a name ends in 'Please provide a TPU Name to connect to' on today's TPU machines. Delete the block: %tpu_connect does its work."
        type_next = "%tpu_connect"
        return [
            self.finding_at("error", call, message, type_next)
            for call, name in cell.calls()
            if name.endswith("TPUClusterResolver")
            and ((not call.args and not call.keywords) or text_of(argument(call, "tpu", 0)) == "")
        ]
