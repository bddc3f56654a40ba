"""A tf.data.Dataset over batches that Python makes, without `from_generator`.

The first dataset of `from_generator` sets the process' ``M_TRIM_THRESHOLD`` to 128 KiB (tensorflow
2.21, ``generator_dataset_op.cc``; its log says "Memory patch applied"). From then on whatever tensor
of some megabytes TensorFlow makes on the CPU costs a page fault for every 4 KiB: a bulk gather of
1,024 × 28×28 float32 took three times as long (November 2026).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

MOST_PASSES = 8


def python_dataset(
    make: Callable[[], Iterator[Any]],
    specs: Any,
    given_away: bool = False,
    misfit: Callable[[Any, Any], Exception] | None = None,
) -> tf.data.Dataset:
    """Return a dataset over what an iterator gives; each pass over it makes a new one.

    Args:
        make: Returns a fresh iterator over trees of NumPy arrays; what it raises ends the pass.
        specs: The same tree of ``tf.TensorSpec``; None in a shape is an axis of any length.
        given_away: Whether TensorFlow may have the arrays' memory. It takes an array that begins at a multiple of 64
            as it is and may compute in place: a loss changed the user's own targets (tensorflow 2.21, November 2026).
            So others are copied.
        misfit: Returns what is raised for an array whose shape does not fit that of its spec, given both.

    Returns:
        A dataset. Of passes at the same time the last eight go on.

    Raises:
        tf.errors.InvalidArgumentError: When it is read and an array does not fit its spec.
    """
    reader = _Reader(make, keras.tree.flatten(specs), given_away, misfit)

    def element(run: Any) -> tuple[Any, ...]:
        there, *arrays = tf.numpy_function(reader.next, [run], reader.dtypes)
        there.set_shape(())
        for array, spec in zip(arrays, reader.specs, strict=True):
            array.set_shape(spec.shape)
        return there, keras.tree.pack_sequence_as(specs, arrays)

    def one_pass(_: Any) -> Any:
        run = tf.numpy_function(reader.open, [], tf.int64)
        elements = tf.data.Dataset.from_tensors(run).repeat().map(element)
        return elements.take_while(lambda there, _: there).map(lambda _, batch: batch)

    return tf.data.Dataset.range(1).flat_map(one_pass)


class _Reader:
    """Open passes and read them; TensorFlow knows a pass by its number."""

    def __init__(self, make: Callable[[], Iterator[Any]], specs: list[Any], given_away: bool, misfit: Any) -> None:
        self.specs = specs
        self._misfit = misfit
        self._given_away = given_away
        self.dtypes = [tf.bool, *(spec.dtype for spec in specs)]
        self._make = make
        self._passes: dict[int, Iterator[Any]] = {}
        self._begun = 0
        self._end = [np.False_, *(np.empty([0] * spec.shape.rank, spec.dtype.as_numpy_dtype) for spec in specs)]
        self._fitting: list[Any] = []

    def open(self) -> np.int64:
        """Begin a pass, and return its number."""
        self._begun += 1
        self._passes[self._begun] = self._make()
        self._passes.pop(self._begun - MOST_PASSES, None)
        return np.int64(self._begun)

    def next(self, run: np.int64) -> list[Any]:
        """Return whether there is a batch, and its arrays."""
        batches = self._passes.get(int(run))
        batch = None if batches is None else next(batches, None)
        if batch is None:
            self._passes.pop(int(run), None)
            return self._end
        arrays = keras.tree.flatten(batch)
        found = [(array.shape, array.dtype) for array in arrays]
        if found != self._fitting:
            self._check(found)
        return [np.True_, *(arrays if self._given_away else map(np.array, arrays))]

    def _check(self, found: list[Any]) -> None:
        for (shape, dtype), spec in zip(found, self.specs, strict=True):
            if self._misfit is not None and not spec.shape.is_compatible_with(shape):
                raise self._misfit(shape, tuple(spec.shape.as_list()))
            if not spec.is_compatible_with(tf.TensorSpec(shape, dtype)):
                raise TypeError(
                    f"A batch has an array of shape {shape} and {dtype}, where {spec.shape} and {spec.dtype.name} "
                    "was expected."
                )
        self._fitting = found
