"""The pipelines that `pipeline` compares: each yields the rows of batches that have reached the device."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from colab_tpu_magic.backends.feed_adapter import FeedAdapter
from colab_tpu_magic.rewrite.buffers import SLOTS, Ring
from colab_tpu_magic.rewrite.dataset import training_feed
from colab_tpu_magic.rewrite.feed import PREFETCH, Feed
from colab_tpu_magic.rewrite.sources import array_source

BATCH = 1024
# Batches that TensorFlow takes in one compiled function, as the rule steps-per-execution has it for an epoch of 160 or more.
STEPS = 16
Way = Callable[[Any, Any], Iterator[int]]


def data_kinds() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return images and labels of three kinds."""
    shapes = {
        "28×28 uint8": (60_000, (28, 28), "uint8"),
        "28×28 float32": (60_000, (28, 28), "float32"),
        "32×32×3 float32": (50_000, (32, 32, 3), "float32"),
    }
    random = np.random.default_rng(0)
    found = {}
    for name, (rows, shape, dtype) in shapes.items():
        images = random.integers(0, 256, (rows, *shape), "uint8")
        found[name] = (images.astype(dtype), random.integers(0, 10, rows, "int32"))
    return found


def ways(backend: str) -> dict[str, Way]:
    """Return the ways of one backend by name, the memory limit the last."""
    to_device = _to_jax if backend == "jax" else _to_tensorflow
    adapted = {name: _with_adapter(make, to_device) for name, make in ADAPTERS.items()}
    return adapted | {"memory": memory_limit}


def _with_adapter(make: Callable[[Any, Any], Any], to_device: Callable[[Any], Iterator[int]]) -> Way:
    return lambda x, y: to_device(make(x, y))


def _to_jax(adapter: Any) -> Iterator[int]:
    """Take batches as Keras' JAX trainer does on a CPU: what the adapter gives goes into a compiled step."""
    import jax

    step = jax.jit(lambda images, labels: (images.ravel()[0], labels[0]))
    while True:
        for batch in adapter.get_jax_iterator():
            jax.block_until_ready(step(*batch[:2]))
            rows = len(batch[1])
            del batch
            yield rows
        adapter.on_epoch_end()


def _to_tensorflow(adapter: Any) -> Iterator[int]:
    """Take batches as Keras' TensorFlow trainer does: out of a dataset's iterator, in a compiled function of several steps."""
    import tensorflow as tf

    dataset = adapter.get_tf_dataset()
    if dataset.cardinality() != tf.data.INFINITE_CARDINALITY:
        dataset = dataset.repeat()  # or the last batches of a pass would end the function

    @tf.function
    def steps(batches: Any) -> Any:
        rows, touched = 0, 0.0
        for _ in tf.range(STEPS):
            images, labels = next(batches)[:2]
            rows += tf.shape(labels)[0]
            touched += tf.cast(tf.reshape(images, [-1])[0], tf.float32)
        return rows, touched

    batches = iter(dataset)
    while True:
        yield int(steps(batches)[0])


def article(x: Any, y: Any) -> Any:
    """Return the pipeline of the article: cached single rows, a window of 1,000 to shuffle in."""
    import tensorflow as tf
    from keras.src.trainers.data_adapters.tf_dataset_adapter import TFDatasetAdapter

    dataset = tf.data.Dataset.from_tensor_slices((x, y))
    return TFDatasetAdapter(dataset.cache().shuffle(1000).repeat().batch(BATCH, drop_remainder=True))


def keras_arrays(x: Any, y: Any) -> Any:
    """Return what `model.fit(x, y)` makes of arrays."""
    from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

    return ArrayDataAdapter(x, y, batch_size=BATCH, shuffle=True)


def tf_data(x: Any, y: Any) -> Any:
    """Return a dataset of shuffled indices that gathers each batch at once, out of constants that copy the arrays."""
    import tensorflow as tf
    from keras.src.trainers.data_adapters.tf_dataset_adapter import TFDatasetAdapter

    whole = len(x) // BATCH
    images, labels = tf.constant(x), tf.constant(y)

    def order(_: Any) -> Any:
        return tf.data.Dataset.from_tensor_slices(
            tf.reshape(tf.random.shuffle(tf.range(len(x)))[: whole * BATCH], (whole, BATCH))
        )

    dataset = tf.data.Dataset.range(1).repeat().flat_map(order)
    dataset = dataset.map(lambda i: (tf.gather(images, i), tf.gather(labels, i)), tf.data.AUTOTUNE)
    return TFDatasetAdapter(dataset.prefetch(2))


def grain(x: Any, y: Any) -> Any:
    """Return a grain dataset whose source gathers a batch of a shuffled order at once, read in threads."""
    import grain as grain_package
    from keras.src.trainers.data_adapters.grain_dataset_adapter import GrainDatasetAdapter

    class Batches:
        def __init__(self) -> None:
            self.order = np.random.default_rng(0).permutation(len(x))

        def __len__(self) -> int:
            return len(x) // BATCH

        def __getitem__(self, at: int) -> Any:
            rows = self.order[at * BATCH : (at + 1) * BATCH]
            return x[rows], y[rows]

    dataset = grain_package.MapDataset.source(Batches()).shuffle(seed=0).repeat()
    options = grain_package.ReadOptions(num_threads=2, prefetch_buffer_size=4)
    return GrainDatasetAdapter(dataset.to_iter_dataset(options))


def our_feed(x: Any, y: Any) -> Feed:
    """Return the feed of a `%%tpu_fit`."""
    return training_feed(array_source(x, y), BATCH, shuffle=True, seed=0, full=True, prefetch=PREFETCH)


def ours(x: Any, y: Any) -> Any:
    """Return our feed as Keras is given it."""
    return _adapter(our_feed(x, y))


def _adapter(feed: Feed) -> FeedAdapter:
    import keras

    feed.waits.handing = keras.backend.backend() == "tensorflow"
    return FeedAdapter(feed)


ADAPTERS = {"article": article, "keras": keras_arrays, "tf.data": tf_data, "grain": grain, "ours": ours}


def memory_limit(x: Any, y: Any) -> Iterator[int]:
    """Copy the rows in their order, one thread, into as many batches in turn as our feed has; do nothing else."""
    ring = Ring()
    lent = [ring.lend(x[:BATCH].nbytes) for _ in range(SLOTS)]
    batches = [one.view(x.dtype).reshape(BATCH, *x.shape[1:]) for one in lent if one is not None]
    at = 0
    while True:
        start = at % (len(x) // BATCH) * BATCH
        np.copyto(batches[at % SLOTS], x[start : start + BATCH])
        at += 1
        yield BATCH


def held_batches(backend: str, x: Any, y: Any, batches: int = 40) -> float:
    """Return how many batches are in memory at most while ours are taken one after the other, the user's arrays aside.

    On TensorFlow only the memory of the feed is counted: with tracemalloc, Python 3.11 crashes now and then when a
    thread of TensorFlow enters it (in ``traceback_new``, seen November 2026).
    """
    if backend == "tensorflow":
        feed = our_feed(x, y)
        batches_of_feed: Any = feed.open()
        feed.open = lambda: batches_of_feed
        running = _to_tensorflow(_adapter(feed))
        for _ in range(-(-batches // STEPS)):
            next(running)
        return batches_of_feed.ring.size / (x[:BATCH].nbytes + y[:BATCH].nbytes)
    running = ways(backend)["ours"](x, y)
    tracemalloc.start()
    try:
        for _ in range(batches):
            next(running)
        return tracemalloc.get_traced_memory()[1] / (x[:BATCH].nbytes + y[:BATCH].nbytes)
    finally:
        tracemalloc.stop()
