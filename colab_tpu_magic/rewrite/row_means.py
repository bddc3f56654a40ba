"""Tell whether a model's loss and metrics are means over rows, so that batches may be cut anywhere.

A mean over rows is the same however the rows are split into batches. A loss that sums, or a
function of one's own that takes a root of a mean, is not; for those an evaluation has to use the
batches that plain Keras would. Private to Keras: ``_compile_metrics._user_metrics``. Tried on
keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

from typing import Any

MEAN_REDUCTIONS = ("sum_over_batch_size", "mean", "mean_with_sample_weight")
STEP_METHODS = ("test_step", "compute_loss", "compute_metrics")


def are_row_means(model: Any) -> bool:
    """Return whether every loss and metric is known not to depend on how rows are batched."""
    import keras

    if any(getattr(type(model), name) is not getattr(keras.Model, name) for name in STEP_METHODS):
        return False
    compiled = getattr(model, "_compile_metrics", None)
    metrics = (getattr(compiled, "_user_metrics", None), getattr(compiled, "_user_weighted_metrics", None))
    losses = keras.tree.flatten(getattr(model, "loss", None))
    return all(map(_loss_is_mean, losses)) and all(map(_metric_is_safe, keras.tree.flatten(metrics)))


def _loss_is_mean(loss: Any) -> bool:
    if loss is None or isinstance(loss, str):
        return True
    return _is_keras_own(loss) and getattr(loss, "reduction", "mean") in MEAN_REDUCTIONS


def _metric_is_safe(metric: Any) -> bool:
    if metric is None or isinstance(metric, str):
        return True
    function = getattr(metric, "_fn", None)
    return _is_keras_own(metric) and (function is None or _is_keras_own(function))


def _is_keras_own(thing: Any) -> bool:
    module = getattr(thing, "__module__", None) or type(thing).__module__
    return module.split(".")[0] == "keras"
