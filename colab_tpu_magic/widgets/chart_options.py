"""How a chart is drawn, as its controls set it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChartOptions:
    """What the switches under a chart say.

    Attributes:
        log: Draw values on a logarithmic axis.
        smoothing: Weight of the past in the exponential mean drawn through the train curve, 0 (none) to below 1.
        epoch_mean: Draw the mean since the epoch began, which Keras reports, in place of the last steps' own values.
        looks: Which look each of several runs has, by its place; the first, the second and so on when empty.
    """

    log: bool = False
    smoothing: float = 0.0
    epoch_mean: bool = False
    looks: tuple[int, ...] = ()
