"""Tell whether a model's loss and metrics are means over rows, so that batches may be cut anywhere.

A mean over rows is the same however the rows are split into batches. A loss that sums, or a
function of one's own that takes a root of a mean, is not; for those an evaluation has to use the
batches that plain Keras would. Private to Keras: ``_compile_metrics._user_metrics``. Tried on
keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from .single_losses import is_keras_own, kinds_of_losses, name_of

MEAN_REDUCTIONS = ("sum_over_batch_size", "mean", "mean_with_sample_weight")
SUMS = ("sum", "reduce_sum", "count_nonzero", "size", "shape", "len")
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


def shares_may_differ(model: Any, batch: Any = None) -> list[str]:
    """Return what of a model's loss and metrics may come out otherwise when each replica takes a share of the rows.

    What sums up rows and counts them is exact however they are shared out, also a metric of one's own whose every
    update adds a sum or a count, and a loss of one's own that gives a number a row.

    Args:
        model: A compiled Keras model.
        batch: A batch of its data, on which its own losses are tried; None to try none.

    Returns:
        Names, such as ``"loss root_of_mean"``; empty when all is known to be exact.
    """
    import keras

    found = [
        f"{type(model).__name__}.{name}"
        for name in STEP_METHODS
        if getattr(type(model), name) is not getattr(keras.Model, name)
    ]
    losses = keras.tree.flatten(getattr(model, "loss", None))
    a_row = () if batch is None else [name for name, kind in kinds_of_losses(model, batch).items() if kind == "rows"]
    found += [
        f"loss {name_of(loss)}"
        for loss in losses
        if not _loss_is_mean(loss)
        and not (name_of(loss) in a_row and getattr(loss, "reduction", "mean") in MEAN_REDUCTIONS)
    ]
    compiled = getattr(model, "_compile_metrics", None)
    metrics = (getattr(compiled, "_user_metrics", None), getattr(compiled, "_user_weighted_metrics", None))
    for metric in keras.tree.flatten(metrics):
        if not _metric_is_safe(metric) and not _adds_up(metric):
            found.append(f"metric {name_of(metric)}")
    return list(dict.fromkeys(found))


def _adds_up(metric: Any) -> bool:
    """Return whether all that a metric remembers is added up from sums and counts over rows."""
    import keras

    kind = type(metric)
    if not isinstance(metric, keras.metrics.Metric) or getattr(metric, "_fn", None) is not None:
        return False
    try:
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind.update_state))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return False
    calls = [node for node in ast.walk(body) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    updates = [call for call in calls if call.func.attr.startswith("assign")]  # type: ignore[attr-defined]
    sums = all(
        call.func.attr == "assign_add" and len(call.args) == 1 and _is_sum(call.args[0])  # type: ignore[attr-defined]
        for call in updates
    )
    return bool(updates) and sums and not any(isinstance(node, ast.If | ast.For | ast.While) for node in ast.walk(body))


def _is_sum(value: ast.expr) -> bool:
    """Return whether an expression is the sum or the number of what it is given, perhaps cast."""
    if isinstance(value, ast.Subscript):  # shape(x)[0]
        value = value.value
    if isinstance(value, ast.Attribute):
        return value.attr == "shape"
    if not isinstance(value, ast.Call):
        return False
    name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    if name == "cast":
        return bool(value.args) and _is_sum(value.args[0])
    return name in SUMS and len(value.args) + len(value.keywords) == 1


def _loss_is_mean(loss: Any) -> bool:
    if loss is None or isinstance(loss, str):
        return True
    return is_keras_own(loss) and getattr(loss, "reduction", "mean") in MEAN_REDUCTIONS


def _metric_is_safe(metric: Any) -> bool:
    if metric is None or isinstance(metric, str):
        return True
    function = getattr(metric, "_fn", None)
    return is_keras_own(metric) and (function is None or is_keras_own(function))
