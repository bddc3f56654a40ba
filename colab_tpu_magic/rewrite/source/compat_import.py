"""``import tensorflow.compat.v1 as tf``: TensorFlow itself, for Keras 3 knows no other."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite
from .names import dotted, node_of

V1 = "tensorflow.compat.v1"


class CompatImport(Rewrite):
    """Import TensorFlow as it is."""

    id = "compat-import"
    title = "TensorFlow itself"
    why = "tensorflow.compat.v1 is the interface of TensorFlow 1, whose graphs Keras 3 cannot train."
    source = "tensorflow.org/guide/migrate; keras.io/guides/migrating_to_keras_3"
    hints = ("compat.v1", "compat import v1")

    def leave_Import(self, original: cst.Import, updated: cst.Import) -> cst.BaseSmallStatement:
        """Rewrite ``import tensorflow.compat.v1 as tf``."""
        names = [
            alias.with_changes(name=node_of("tensorflow")) if alias.asname and dotted(alias.name) == V1 else alias
            for alias in updated.names
        ]
        if all(new is old for new, old in zip(names, updated.names)):
            return updated
        new: cst.BaseSmallStatement = self.replace(original, updated.with_changes(names=names))
        return new

    def leave_ImportFrom(self, original: cst.ImportFrom, updated: cst.ImportFrom) -> cst.BaseSmallStatement:
        """Rewrite ``from tensorflow.compat import v1 as tf``."""
        if original.module is None or dotted(original.module) != "tensorflow.compat":
            return updated
        if isinstance(updated.names, cst.ImportStar) or [a.evaluated_name for a in updated.names] != ["v1"]:
            return updated
        alias = updated.names[0]
        name = dotted(alias.asname.name) if alias.asname is not None else "v1"
        new: cst.BaseSmallStatement = self.replace(original, _import(name))
        return new


def _import(name: str) -> cst.Import:
    return cst.Import([cst.ImportAlias(cst.Name("tensorflow"), asname=cst.AsName(cst.Name(name)))])
