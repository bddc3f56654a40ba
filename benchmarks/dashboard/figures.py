"""Turn measured fits into figures: ratios to the bare fit beside each, and what a batch and an epoch cost."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shape:
    """How many batches of how many epochs.

    Attributes:
        epochs: Epochs.
        steps: Steps in an epoch.
    """

    epochs: int
    steps: int

    @property
    def batches(self) -> int:
        """Batches in all."""
        return self.epochs * self.steps

    def __str__(self) -> str:
        """Return the shape for people."""
        return f"{self.epochs}×{self.steps}"


@dataclass(frozen=True)
class Pair:
    """One watched fit and the bare one that ran beside it, in the same kernel.

    Attributes:
        name: The contender.
        shape: Its shape.
        step_seconds: What a step takes by itself.
        repeat: Which round, from 0.
        watched: What `measure` returned, and the bytes sent as ``"<phase>_bytes"``.
        bare: The same of the bare fit.
    """

    name: str
    shape: Shape
    step_seconds: float
    repeat: int
    watched: dict[str, float]
    bare: dict[str, float]

    @property
    def wall_ratio(self) -> float:
        """Wall time of the epochs, that of the steps' own waiting when the other fit took none."""
        own = self.bare["loop_wall"] or self.shape.batches * self.step_seconds
        return self.watched["loop_wall"] / own

    @property
    def alone(self) -> Pair:
        """The bare fit, set against the mere waiting of its steps, which is no work at all."""
        return replace(self, watched=self.bare, bare=dict.fromkeys(self.bare, 0.0))

    @property
    def bytes_per_minute(self) -> float:
        """Bytes sent to the notebook in a minute of training."""
        return 60 * (self.watched["loop_bytes"] - self.bare["loop_bytes"]) / self.watched["loop_wall"]

    def extra(self, figure: str) -> float:
        """Return by how much a figure is above the bare fit's."""
        return self.watched[figure] - self.bare[figure]


def per_batch_and_epoch(costs: Sequence[tuple[Shape, float]]) -> tuple[float, float]:
    """Return what a batch and what an epoch cost, from the costs of fits of two shapes.

    The medians of both shapes are solved for ``batches · a + epochs · b = cost``.

    Raises:
        ValueError: When the costs are not of two shapes with different numbers of batches an epoch.

    Example:
        >>> per_batch_and_epoch([(Shape(2, 500), 12.0), (Shape(20, 50), 30.0)])
        (0.01, 1.0)
    """
    by_shape: dict[Shape, list[float]] = {}
    for shape, cost in costs:
        by_shape.setdefault(shape, []).append(cost)
    if len(by_shape) != 2 or len({shape.steps for shape in by_shape}) != 2:
        msg = f"Costs of {len(by_shape)} shapes cannot be solved. Expected: two with different steps an epoch."
        raise ValueError(msg)
    (one, first), (other, second) = ((shape, statistics.median(values)) for shape, values in by_shape.items())
    determinant = one.batches * other.epochs - other.batches * one.epochs
    batch = (first * other.epochs - second * one.epochs) / determinant
    epoch = (one.batches * second - other.batches * first) / determinant
    return batch, epoch
