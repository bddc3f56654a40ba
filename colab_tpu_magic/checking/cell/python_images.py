"""Trap ``python-feed`` in text: images that are read and changed in Python, one after the other."""

from __future__ import annotations

from ...rewrite.finding import Finding
from .base import CellText, CellTrap


class PythonImages(CellTrap):
    """ImageDataGenerator reads, decodes and turns images in Python, one after the other; a TPU waits for it.

    Augmentation as layers at the begin of the model (RandomFlip, RandomRotation) runs on the device, and
    ``image_dataset_from_directory`` reads files on several threads.
    """

    id = "python-feed"
    title = "Batches made in Python"
    source = "tensorflow#34346, tensorflow#40628, tensorflow#32712, tensorflow#31231"

    def look(self, cell: CellText) -> list[Finding]:
        """Look for ImageDataGenerator."""
        message = "ImageDataGenerator makes images one by one in Python, and the device waits for it; Keras calls it deprecated."
        return [
            self.finding_at("note", call, message, "keras.utils.image_dataset_from_directory(folder)")
            for call, name in cell.calls()
            if name.endswith("ImageDataGenerator")
        ]
