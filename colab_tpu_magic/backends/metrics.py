"""Read the running metrics of a model as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Reading:
    """One metric at one moment.

    Attributes:
        value: The running value since the start of the epoch.
        total: Weighted sum behind a mean, or None for other metrics.
        count: Weight behind a mean, or None.
    """

    value: float
    total: float | None = None
    count: float | None = None

    def since(self, earlier: Reading | None) -> float:
        """Return the mean over the steps between two readings, or the running value where there is none."""
        if earlier is None or self.total is None or earlier.total is None:
            return self.value
        weight = (self.count or 0.0) - (earlier.count or 0.0)
        if weight <= 0:
            return self.value
        return (self.total - earlier.total) / weight


def readings(model: Any) -> dict[str, Reading]:
    """Return every metric of a model whose metric variables hold values, by name.

    A mean of nothing is left out: a `train_step` of the user's own may never touch the loss that Keras keeps.
    """
    totals = {metric.name: metric for metric in _leaf_metrics(model) if _is_mean(metric)}
    result: dict[str, Reading] = {}
    for name, value in model.get_metrics_result().items():
        number = np.asarray(value)
        if number.ndim:
            continue
        mean = totals.get(name)
        if mean is None:
            result[name] = Reading(float(number))
        else:
            total, count = float(np.asarray(mean.total)), float(np.asarray(mean.count))
            if count:
                result[name] = Reading(total / count, total, count)
    return result


def _leaf_metrics(model: Any) -> list[Any]:
    leaves: list[Any] = []
    for metric in model.metrics:
        nested = getattr(metric, "metrics", None)
        leaves += nested if nested else [metric]
    return leaves


def _is_mean(metric: Any) -> bool:
    import keras

    # RootMeanSquaredError is a Mean with a result of its own.
    return isinstance(metric, keras.metrics.Mean) and type(metric).result is keras.metrics.Mean.result
