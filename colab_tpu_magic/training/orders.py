"""Find where a tf.data.Dataset is shuffled anew each time it is begun: its order then depends on how often it was."""

from __future__ import annotations

from typing import Any

from ..files.notes import notes_of

SELECTING = ("_TakeDataset", "_SkipDataset", "_FilterDataset", "_ShardDataset", "_TakeWhileDataset")


def orders_beneath(dataset: Any) -> dict[int, bool]:
    """Return, for each such shuffle by the identity of its dataset, whether some of its rows are picked afterwards.

    Args:
        dataset: Anything; of what is no dataset, and of files that are read in orders of ours, there are none.
    """
    found: dict[int, bool] = {}
    waiting = [(dataset, False)]
    while waiting:
        one, picked = waiting.pop()
        if notes_of(one) is not None:
            continue
        kind = type(one).__name__
        if kind == "_ShuffleDataset" and getattr(one, "_reshuffle_each_iteration", True) is not False:
            found[id(one)] = found.get(id(one), False) or picked
        inputs = getattr(one, "_inputs", None)  # tf.data has no public name for what a dataset was made from
        waiting += [(part, picked or kind in SELECTING) for part in (inputs() if callable(inputs) else ())]
    return found


def is_looked_at(model: Any, backend: str, replicas: int) -> bool:
    """Return whether plain Keras would take a batch to build a model before it trains it."""
    if backend == "tensorflow":
        return replicas > 1
    metrics, loss = getattr(model, "_compile_metrics", None), getattr(model, "_compile_loss", None)
    parts = [*model._flatten_layers(), *(one for one in (metrics, loss) if one is not None)]
    return not all(one.built for one in parts)
