"""keras.utils.PyDataset, the Sequence of old: ImageDataGenerator.flow gives one too."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import numpy as np

from .base import Stream


def read_py_dataset(x: Any, shuffle: bool) -> Stream | None:
    """Return a PyDataset's batches, in a new order each pass when it is to be shuffled.

    Its workers are threads here. Keras' processes are forks of one that may hold a TPU, whose threads a fork lacks.
    """
    import keras

    if not isinstance(x, keras.utils.PyDataset):
        return None
    batches = x.num_batches
    workers = max(1, int(getattr(x, "workers", 1) or 1))
    remark = ""
    if getattr(x, "use_multiprocessing", False):
        remark = f"{workers} thread{'s' if workers != 1 else ''} instead of processes"
    return Stream("PyDataset", lambda: _one_pass(x, shuffle, workers), batches, infinite=batches is None, remark=remark)


def _one_pass(dataset: Any, shuffle: bool, workers: int) -> Iterator[Any]:
    """Yield the batches of one pass; tell the dataset once when it begins, and once when all were made."""
    batches = dataset.num_batches
    order: Iterable[int] = count() if batches is None else range(batches)
    if shuffle and batches is not None:
        order = np.random.default_rng(np.random.randint(2**31)).permutation(batches).tolist()
    dataset.on_epoch_begin()
    made = 0
    changes_itself = not _is_keras_own(type(dataset).on_epoch_end)
    try:
        for batch in _made(dataset, order, workers):
            made += 1
            yield _own(batch) if changes_itself else batch
    finally:
        # Also when nobody asks for more after the last batch; not after an error or an early end.
        if made == batches:
            dataset.on_epoch_end()


def _made(dataset: Any, order: Iterable[int], workers: int) -> Iterator[Any]:
    """Make batches by number, several at once where there are workers, and give them in order."""
    if workers == 1:
        for index in order:
            yield dataset[index]
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="tpu-py-dataset")
    waiting: deque[Any] = deque()
    try:
        for index in order:
            waiting.append(pool.submit(dataset.__getitem__, index))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _own(batch: Any) -> Any:
    """Return a batch whose arrays are no views: on_epoch_end may shuffle in place what they look at."""
    import keras

    return keras.tree.map_structure(
        lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) and leaf.base is not None else leaf, batch
    )


def _is_keras_own(method: Any) -> bool:
    return str(getattr(method, "__module__", "")).split(".")[0] == "keras"
