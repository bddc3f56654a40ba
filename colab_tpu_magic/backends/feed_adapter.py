"""Hand our batches to Keras: its DataAdapter over a feed, for JAX and for TensorFlow.

Private to Keras: ``DataAdapter``, which `fit` takes as it is. Tried on keras 3.10.0, 3.13.2
and 3.15.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from keras.src.trainers.data_adapters.data_adapter import DataAdapter

from ..rewrite.batches import differs
from ..rewrite.feed import Feed

PREFETCHED = 2


class FeedAdapter(DataAdapter):
    """Present a feed as a Keras data adapter.

    Args:
        feed: Yields ``(x, y, sample_weight)``-style tuples of NumPy arrays.
        decode: Makes a batch for JAX of one of the feed's that holds codes; None where it holds none.
    """

    def __init__(self, feed: Feed, decode: Callable[[Any], Any] | None = None) -> None:
        self.feed = feed
        self.decode = decode

    def get_numpy_iterator(self) -> Iterator[Any]:
        """Return an iterator over NumPy batches."""
        return iter(self.feed)

    def get_jax_iterator(self) -> Iterator[Any]:
        """Return an iterator over NumPy batches; the engine puts them on the devices, where codes are already."""
        return iter(self.feed) if self.decode is None else map(self.decode, self.feed)

    def get_tf_dataset(self) -> Any:
        """Return a tf.data.Dataset over the batches, with as static a shape as they have."""
        import keras
        import tensorflow as tf

        from ..rewrite.python_dataset import python_dataset

        rows = self.feed.static_rows

        leaves = keras.tree.flatten(self.feed.example)
        shapes = [[rows, *leaf.shape[1:]] for leaf in leaves]
        for shape, axes in zip(shapes, self.feed.free_axes, strict=False):
            for axis in axes:
                shape[axis] = None
        specs = [tf.TensorSpec(shape, leaf.dtype) for shape, leaf in zip(shapes, leaves, strict=True)]
        # tf.data takes a list for one array of several rows; Keras too hands it tuples.
        tuples = keras.tree.lists_to_tuples
        signature = tuples(keras.tree.pack_sequence_as(self.feed.example, specs))
        if self.feed.block > 1:
            # A call of Python costs more than gathering a small batch. Unlike `unbatch`, slices are no copies.
            blocks = keras.tree.map_structure(lambda spec: tf.TensorSpec([None, *spec.shape], spec.dtype), signature)
            dataset = python_dataset(lambda: map(tuples, self.feed.blocks()), blocks, given_away=True)
            dataset = dataset.flat_map(lambda *block: tf.data.Dataset.from_tensor_slices(block))
        else:
            dataset = python_dataset(
                lambda: map(tuples, self.feed), signature, given_away=self.feed.block > 0, misfit=self._misfit
            )
        options = tf.data.Options()
        options.experimental_optimization.inject_prefetch = False  # there is one, and another would hold a batch more
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
        # There is nothing to tune, and an iterator's end may wait up to a minute for the thread that would.
        options.autotune.enabled = False
        # What runs here is short and in order. In the pool of all operations its threads spend more in looking for work.
        options.threading.private_threadpool_size = 1
        # What is gathered lies ready, or the thread that asks lends a hand: one more would hold a batch, and cost.
        return dataset.with_options(options) if self.feed.block else dataset.prefetch(PREFETCHED).with_options(options)

    def _misfit(self, shape: Any, before: Any) -> Exception:
        """Keep what is wrong with a batch where a fit looks for what its data raised."""
        self.feed.error = differs(shape, before)
        return self.feed.error

    @property
    def num_batches(self) -> int | None:
        """Batches in one pass, or None when the feed is endless."""
        return self.feed.batches

    @property
    def batch_size(self) -> int | None:
        """Global batch size."""
        return self.feed.batch_size

    @property
    def has_partial_batch(self) -> bool:
        """Whether the last batch may be smaller."""
        return self.feed.static_rows is None

    @property
    def partial_batch_size(self) -> int | None:
        """Size of the last batch, or None."""
        return None
