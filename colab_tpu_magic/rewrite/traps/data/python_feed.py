"""Trap ``python-feed``: batches that Python makes one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...finding import Finding
from ...prepared import PreparedFit
from ..base import Trap

if TYPE_CHECKING:
    from ....backends.base import Runtime

PYTHON_FORMS = ("generator", "PyDataset", "torch DataLoader")


class PythonFeed(Trap):
    """A generator, a Sequence or an ImageDataGenerator makes each batch in Python, one after the other.

    A TPU computes a batch in milliseconds and then waits for the next one. TPUStrategy refuses most of these
    forms; here they train, some batches ahead, and as fast as Python makes them. Arrays, or a tf.data.Dataset
    with its work in ``map`` on several threads, keep a TPU busy.
    """

    id = "python-feed"
    title = "Batches made in Python"
    source = "tensorflow#34346, tensorflow#40628, tensorflow#32712, tensorflow#31231"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Look at the form of the training data."""
        form = getattr(prepared.request.data, "form", "")
        if not any(known in form for known in PYTHON_FORMS):
            return []
        message = (
            f"The training data is a {form}: Python makes its batches one by one, and the device waits where that is "
            "slower than a step."
        )
        return [self.finding("note", message, "dataset.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).batch(128)")]
