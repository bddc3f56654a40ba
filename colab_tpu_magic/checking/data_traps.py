"""The traps that a dataset shows by itself, before a batch of it is read."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from typing import Any

from ..rewrite.finding import Finder, Finding
from ..rewrite.forms.tf_rows import gives_single_rows

GIB = 2**30


class DataTrap(Finder):
    """One thing that a dataset shows by itself."""

    def look(self, data: Any, model: Any) -> list[Finding]:
        """Return what is found; an empty list when all is well. Nothing is read of the data."""
        raise NotImplementedError


class SingleRows(DataTrap):
    """A dataset that was never batched gives one row at a time, and a model wants batches.

    ``%%tpu_fit`` batches the rows in bulk, at the batch size of the training. Plain Keras takes the first axis of a
    row for the batch: it stops, or trains on something else.
    """

    id = "single-rows"
    title = "Dataset without batches"
    source = "keras.io/api/models/model_training_apis (2026)"

    def look(self, data: Any, model: Any) -> list[Finding]:
        """Ask what the fit asks: do the shapes show single rows?"""
        if not is_single_rows(data, model):
            return []
        message = "The dataset gives single rows: plain Keras wants batches, and %%tpu_fit batches them."
        return [self.finding("note", message, "dataset = dataset.batch(128)")]


class DynamicShapes(DataTrap):
    """XLA compiles the training step for one shape. Rows of another length are another shape and compile it again.

    Text of all lengths, padded batch by batch, compiles the step for every length that the longest row of a
    batch has. One length for all, or a few (buckets), compile it once or a few times.
    """

    id = "dynamic-shapes"
    title = "Rows of many lengths"
    source = "tensorflow#48602, tensorflow#41899, colabtools#1491, colabtools#1684"

    def look(self, data: Any, model: Any) -> list[Finding]:
        """Look for axes after the first whose length the dataset does not tell."""
        for spec in element_specs(data):
            ragged = "Ragged" in type(spec).__name__
            shape = spec.shape
            if ragged or shape.rank is None or any(length is None for length in shape.as_list()[1:]):
                shown = "of any number of axes" if shape.rank is None else _shape_text(shape.as_list())
                message = (
                    f"The dataset gives {'ragged ' if ragged else ''}batches {shown}: each length is a shape of its own, "
                    "for which XLA compiles the step again."
                )
                return [self.finding("warning", message, "dataset.padded_batch(128, padded_shapes=([200], []))")]
        return []


class CacheTooLarge(DataTrap):
    """``cache()`` without a file name keeps every element in the memory of the host, and takes more until it dies.

    The kernel is then ended by the system without a message. ``cache("/tmp/name")`` keeps them on the disk.
    """

    id = "cache-too-large"
    title = "cache() beyond the memory"
    source = "colabtools#5901"

    def look(self, data: Any, model: Any) -> list[Finding]:
        """Compare the bytes of all elements before a cache with the memory of this machine."""
        have = host_bytes()
        for part in chain_of(data):
            if type(part).__name__ not in ("CacheDataset", "_CacheDataset") or _has_file(part):
                continue
            needed = least_bytes(part)
            if needed > have:
                message = (
                    f"cache() will hold {needed / GIB:,.0f} GiB, and this machine has {have / GIB:,.0f} GiB of memory."
                )
                return [self.finding("error", message, 'dataset.cache("/tmp/cache")')]
        return []


DATA_TRAPS: tuple[DataTrap, ...] = (SingleRows(), DynamicShapes(), CacheTooLarge())


def find_in_data(data: Any, model: Any) -> list[Finding]:
    """Return what a dataset shows; nothing for arrays.

    Args:
        data: What was given to fit as x, or as validation data.
        model: The Keras model.
    """
    return [finding for trap in DATA_TRAPS for finding in trap.look(data, model)]


def is_dataset(data: Any) -> bool:
    """Return whether something is a tf.data.Dataset, importing nothing."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and isinstance(data, tensorflow.data.Dataset)


def element_specs(data: Any) -> list[Any]:
    """Return the shapes and dtypes of the tensors in an element of a dataset; nothing for other data."""
    return list(sys.modules["tensorflow"].nest.flatten(data.element_spec)) if is_dataset(data) else []


def is_single_rows(data: Any, model: Any) -> bool:
    """Return whether a fit would take a dataset for one of single rows; False where its ranks are not told."""
    specs = element_specs(data)
    if not specs or any(spec.shape.rank is None for spec in specs):
        return False
    return gives_single_rows(data.element_spec, model, sys.modules["tensorflow"])


def has_known_lengths(data: Any, model: Any) -> bool:
    """Return whether every length of a dataset's rows is told by its shapes; True for other data."""
    first = 0 if is_single_rows(data, model) else 1
    shapes = [spec.shape for spec in element_specs(data)]
    return all(shape.rank is not None and None not in shape.as_list()[first:] for shape in shapes)


def chain_of(data: Any) -> Iterator[Any]:
    """Yield a dataset and those that it is made from.

    Private to TensorFlow: ``_input_dataset``; tried on 2.20 and 2.21. Without it the chain ends early.
    """
    while is_dataset(data):
        yield data
        data = getattr(data, "_input_dataset", None)


def least_bytes(data: Any) -> int:
    """Return the least bytes that all elements of a dataset take: an unknown length counts as one."""
    count = int(data.cardinality())
    each = sum(
        math.prod(length or 1 for length in spec.shape.as_list()) * spec.dtype.size
        for spec in element_specs(data)
        if spec.shape.rank is not None and getattr(spec, "dtype", None) is not None
    )
    return count * each if count > 0 else 0


def host_bytes() -> int:
    """Return the memory of this machine, bytes; a very large number where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize


def _has_file(cache: Any) -> bool:
    name = getattr(cache, "_filename", None)
    return name is not None and bool(name.numpy())


def _shape_text(shape: list[int | None]) -> str:
    return "of shape (" + ", ".join("?" if length is None else str(length) for length in shape) + ")"
