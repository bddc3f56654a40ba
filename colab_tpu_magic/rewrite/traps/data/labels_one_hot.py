"""Trap ``labels-one-hot``: one-hot rows for a loss that takes class numbers, or the other way round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...finding import Finding
from ...prepared import PreparedFit
from ..base import Trap
from .targets import DENSE, SPARSE, classes_of, labels_of, loss_name

if TYPE_CHECKING:
    from ....backends.base import Runtime

ROWS_LOOKED_AT = 200


class LabelsOneHot(Trap):
    """Labels come as class numbers, ``3``, or as one-hot rows, ``0 0 0 1``, and each kind has a loss of its own.

    With the loss of the other kind the training step cannot be made: shapes do not match, and the message
    that says so names neither the labels nor the loss.
    """

    id = "labels-one-hot"
    title = "Labels of the other kind"
    source = "keras.io/api/losses/probabilistic_losses (2026)"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Compare the shape of the labels with the loss."""
        model = prepared.request.model
        name, labels, classes = loss_name(model), labels_of(prepared), classes_of(model)
        output = getattr(model, "output_shape", None) if getattr(model, "built", False) else None
        if labels is None or classes is None or classes < 2 or (isinstance(output, tuple) and len(output) != 2):
            return []
        one_hot = labels.ndim == 2 and labels.shape[1] == classes
        if one_hot and output is None:
            # Nobody knows yet whether the model gives one row of classes for a row, or one for each of its columns.
            one_hot = bool(((labels[:ROWS_LOOKED_AT] == 1).sum(axis=1) == 1).all())
        numbers = labels.ndim == 1 or (labels.ndim == 2 and labels.shape[1] == 1)
        if name == SPARSE and one_hot:
            message = f"The labels are one-hot rows of {classes} columns, and {SPARSE} takes one class number a row."
            return [self.finding("error", message, f'model.compile(optimizer="adam", loss="{DENSE}")')]
        if name == DENSE and numbers:
            message = f"The labels are class numbers, and {DENSE} takes one-hot rows of {classes} columns."
            return [self.finding("error", message, f'model.compile(optimizer="adam", loss="{SPARSE}")')]
        return []
