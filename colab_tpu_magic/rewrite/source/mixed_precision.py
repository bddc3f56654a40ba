"""``mixed_precision.experimental``: the same names without ``experimental``."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite
from .names import dotted, node_of

NEW_NAMES = {"set_policy": "set_global_policy", "global_policy": "global_policy", "Policy": "Policy"}


class MixedPrecision(Rewrite):
    """Write the names of today."""

    id = "mixed-precision"
    title = "mixed_precision"
    why = "Mixed precision left experimental in TensorFlow 2.4, and set_policy has been called set_global_policy since."
    source = "tensorflow 2.4 release notes; keras.io/api/mixed_precision"
    hints = ("mixed_precision",)

    def leave_Attribute(self, original: cst.Attribute, updated: cst.Attribute) -> cst.BaseExpression:
        """Rewrite ``….mixed_precision.experimental.set_policy``."""
        path, written = self.keras(original), dotted(original)
        prefix, _, name = path.rpartition(".")
        if prefix != "mixed_precision.experimental" or not written:
            return updated
        owner = written.rpartition(".")[0].removesuffix(".experimental")
        return self.replace(original, node_of(f"{owner}.{NEW_NAMES.get(name, name)}"))

    def leave_ImportFrom(self, original: cst.ImportFrom, updated: cst.ImportFrom) -> cst.BaseSmallStatement:
        """Rewrite the two forms of its import."""
        if original.module is None or isinstance(updated.names, cst.ImportStar):
            return updated
        module = dotted(original.module)
        if module.endswith("keras.mixed_precision.experimental"):
            new = updated.with_changes(module=node_of(module.removesuffix(".experimental")))
        elif module.endswith("keras.mixed_precision") and [a.evaluated_name for a in updated.names] == ["experimental"]:
            asname = updated.names[0].asname
            if asname is not None and dotted(asname.name) == "mixed_precision":
                asname = None
            elif asname is None:
                asname = cst.AsName(cst.Name("experimental"))
            alias = cst.ImportAlias(cst.Name("mixed_precision"), asname=asname)
            new = updated.with_changes(module=node_of(module.rpartition(".")[0]), names=[alias])
        else:
            return updated
        replaced: cst.BaseSmallStatement = self.replace(original, new)
        return replaced
