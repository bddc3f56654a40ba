"""Trap ``h5-names`` in text: file names that Keras 3 refuses."""

from __future__ import annotations

import re

from ...rewrite.finding import Finding
from .base import CellText, CellTrap, argument, text_of

OLD = re.compile(r"\.(h5|hdf5|tf|ckpt)$")


class OldFileNames(CellTrap):
    """Keras 3 tells the format of a file by its name: ``.keras`` for a model, ``.weights.h5`` for weights alone.

    ``save_weights("w.h5")``, a checkpoint named ``best.h5`` and a folder without any ending are refused. A whole
    model in ``model.h5`` is still written, in a format that Keras calls legacy.
    """

    id = "h5-names"
    title = "File names of Keras 2"
    source = "keras.io/guides/migrating_to_keras_3 (2026); tensorflow#32024"

    def look(self, cell: CellText) -> list[Finding]:
        """Look at the names that are given to save, save_weights and ModelCheckpoint."""
        found = []
        for call, name in cell.calls():
            last = name.rpartition(".")[2]
            file = text_of(argument(call, "filepath", 0))
            if file is None or last not in ("save", "save_weights", "ModelCheckpoint"):
                continue
            weights_only = (
                last == "save_weights" or getattr(argument(call, "save_weights_only"), "value", False) is True
            )
            wanted = ".weights.h5" if weights_only else ".keras"
            owner = name.rpartition(".")[0].rpartition(".")[2]
            if file.endswith(wanted) or not (OLD.search(file) or last == "save_weights" or last == "ModelCheckpoint"):
                continue
            if last == "save" and owner in ("np", "numpy", "image", "img"):
                continue
            new = re.sub(r"(\.weights)?(\.\w+)?$", "", file) + wanted
            legacy = last == "save" and file.endswith((".h5", ".hdf5"))
            message = f"{last}({file!r}): Keras 3 refuses this name, and wants one that ends in {wanted}."
            if legacy:
                message = f"{last}({file!r}): Keras 3 calls this format legacy; its own ends in {wanted}."
            found.append(self.finding_at("note" if legacy else "warning", call, message, f'{last}("{new}")'))
        return found
