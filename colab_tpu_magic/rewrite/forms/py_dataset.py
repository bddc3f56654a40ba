"""keras.utils.PyDataset, the Sequence of old."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .base import Stream


def read_py_dataset(x: Any, shuffle: bool) -> Stream | None:
    """Return a PyDataset's batches, in a new order each pass when it is to be shuffled."""
    import keras

    if not isinstance(x, keras.utils.PyDataset):
        return None
    batches = x.num_batches
    return Stream("PyDataset", lambda: _py_dataset(x, shuffle), batches, infinite=batches is None)


def _py_dataset(dataset: Any, shuffle: bool) -> Iterator[Any]:
    """Yield the batches of a PyDataset in order, several made at once where it has workers."""
    batches = dataset.num_batches
    if batches is None:
        index = 0
        while True:
            yield dataset[index]
            index += 1
    order = np.random.default_rng(np.random.randint(2**31)).permutation(batches) if shuffle else np.arange(batches)
    workers = max(1, int(getattr(dataset, "workers", 1)))
    if workers == 1:
        for index in order:
            yield dataset[int(index)]
    else:
        with ThreadPoolExecutor(workers) as pool:
            waiting: list[Any] = []
            for index in order:
                waiting.append(pool.submit(dataset.__getitem__, int(index)))
                if len(waiting) > workers:
                    yield waiting.pop(0).result()
            for made in waiting:
                yield made.result()
    dataset.on_epoch_end()
