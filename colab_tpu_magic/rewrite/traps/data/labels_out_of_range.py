"""Trap ``labels-out-of-range``: class numbers that the model has no output for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...finding import Finding
from ...prepared import PreparedFit
from ..base import Trap
from .targets import SPARSE, classes_of, ignored_class, labels_of, loss_name

if TYPE_CHECKING:
    from ....backends.base import Runtime


class LabelsOutOfRange(Trap):
    """A model with 10 outputs has the classes 0 to 9; a label of 10 or of -1 has no output to go to.

    On a CPU TensorFlow stops with an error. A TPU cannot raise one in the middle of a step: the loss becomes
    NaN, or is quietly computed from the wrong number. Often the labels count from 1.
    """

    id = "labels-out-of-range"
    title = "Labels without an output"
    source = "tensorflow.org/api_docs, tf.nn.sparse_softmax_cross_entropy_with_logits (2026): NaN on accelerators"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Compare the smallest and the largest label with the model's outputs."""
        model = prepared.request.model
        labels, classes = labels_of(prepared), classes_of(model)
        if loss_name(model) != SPARSE or labels is None or classes is None or labels.dtype.kind not in "iuf":
            return []
        if labels.ndim > 1 and labels.shape[-1] == classes:
            return []  # one-hot rows: another trap
        if (ignored := ignored_class(model)) is not None:
            labels = labels[labels != ignored]
        if not labels.size:
            return []
        low, high = labels.min(), labels.max()
        if low >= 0 and high < classes:
            return []
        found = f"The labels go from {low:g} to {high:g}, and the model has {classes} outputs, the classes 0 to {classes - 1}."
        if low == 1 and high == classes:
            return [self.finding("error", f"{found} They seem to count from 1.", "y = y - 1")]
        units = int(high) + 1
        next_line = f'keras.layers.Dense({units}, activation="softmax")' if low >= 0 else "numpy.unique(y)"
        return [self.finding("error", found, next_line)]
