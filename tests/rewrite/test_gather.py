"""Rows gathered into memory that is used again: right values, no batch changed under its reader, few held at once."""

from __future__ import annotations

import threading
import time
import tracemalloc
from itertools import islice

import numpy as np
import pytest

from colab_tpu_magic.rewrite.ahead import prefetched
from colab_tpu_magic.rewrite.arrays.ragged import RaggedRows
from colab_tpu_magic.rewrite.batches import index_batches
from colab_tpu_magic.rewrite.buffers import ALIGNMENT
from colab_tpu_magic.rewrite.dataset import training_feed
from colab_tpu_magic.rewrite.gather import Gathered, Job, block_of
from colab_tpu_magic.rewrite.sources import ArraySource, array_source
from colab_tpu_magic.rewrite.waits import Waits

ROWS = 500


def numbered(rows=ROWS, width=7):
    """Rows that hold their own number, so that a wrong or changed one shows."""
    return np.repeat(np.arange(rows, dtype="float32")[:, None], width, axis=1), np.arange(rows, dtype="int32")


def orders(batches=20, size=64, rows=ROWS):
    return list(islice(index_batches(rows, size, True, 5), batches))


def ahead(gathered, interrupted=None, waits=None):
    return prefetched(gathered, 3, interrupted or threading.Event(), waits)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(60, dtype="float32").reshape(20, 3),
        np.asfortranarray(np.arange(60, dtype="int16").reshape(20, 3)),
        np.arange(120, dtype="float64").reshape(20, 6)[:, ::2],
        np.arange(20, dtype="uint8")[::-1],
        np.arange(20) % 3 == 0,
        np.arange(20, dtype=">i4"),
        np.zeros((20, 0), "float32"),
        np.arange(160, dtype="complex64").reshape(20, 2, 4),
    ],
    ids=["plain", "fortran", "strided", "reversed", "bool", "big-endian", "empty-rows", "three-axes"],
)
@pytest.mark.parametrize("dtype", [None, "float32"])
def test_gathered_rows_are_those_of_numpys_own_indexing(array, dtype):
    if array.dtype.kind == "c" and dtype:
        dtype = "complex128"
    index = np.array([19, 0, 7, 7, 3])
    source = ArraySource((array,), 20, (None if dtype is None else np.dtype(dtype),))
    (picked,) = next(Gathered(source, iter([index])))
    assert picked.dtype == (dtype or array.dtype) and picked.flags.writeable
    np.testing.assert_array_equal(picked, array[index].astype(dtype or array.dtype))


def test_rows_larger_than_a_piece_are_cast_whole():
    array = np.random.default_rng(0).random((40, 50_000))
    source = ArraySource((array,), 40, (np.dtype("float32"),))
    (picked,) = next(Gathered(source, iter([np.arange(39, -1, -1)])))
    np.testing.assert_array_equal(picked, array[::-1].astype("float32"))


def test_trees_keep_their_shape_and_every_array_begins_aligned():
    x, y = numbered()
    source = array_source({"a": x, "b": [x[:, :1], y]}, y)
    batch, labels = next(Gathered(source, iter([np.array([4, 2, 9])])))
    assert batch["b"][1].tolist() == labels.tolist() == [4, 2, 9]
    assert batch["b"][0].tolist() == [[4.0], [2.0], [9.0]]
    for part in (batch["a"], *batch["b"], labels):
        assert part.ctypes.data % ALIGNMENT == 0


def test_batches_gathered_in_threads_come_in_order():
    x, y = numbered()
    rows = orders()
    seen = [labels.tolist() for _, labels in ahead(Gathered(ArraySource((x, y), ROWS), iter(rows)))]
    assert seen == [index.tolist() for index in rows]


@pytest.mark.parametrize("block", [0, 3])
def test_large_batches_are_gathered_in_parts_by_several_threads(block, monkeypatch):
    x, y = numbered(width=100_000)
    threads, original = set(), Job.gather

    def gather(job, part):
        threads.add(threading.current_thread().name)
        assert 0 < part.stop - part.start < len(job.index)
        original(job, part)

    monkeypatch.setattr(Job, "gather", gather)
    rows = orders(12, 64)
    gathered = Gathered(ArraySource((x, y), ROWS), iter(rows))
    if block:
        gathered.give_blocks(block)
    for at, (images, labels) in enumerate(ahead(gathered)):
        expected = np.stack(rows[at * block : (at + 1) * block]) if block else rows[at]
        np.testing.assert_array_equal(labels, expected)
        np.testing.assert_array_equal(images[..., 0], expected)
        np.testing.assert_array_equal(images[..., -1], expected)
    assert len(threads) > 1


def test_batches_that_are_kept_never_change():
    x, y = numbered()
    rows = orders(40)
    kept = list(ahead(Gathered(ArraySource((x, y), ROWS), iter(rows))))
    for (images, labels), index in zip(kept, rows, strict=True):
        np.testing.assert_array_equal(labels, index)
        np.testing.assert_array_equal(images, x[index])


def test_a_slice_that_is_kept_of_a_batch_that_is_not_never_changes():
    x, y = numbered()
    rows = orders(40)
    kept = [batch[0][10:12, 3] for batch in ahead(Gathered(ArraySource((x, y), ROWS), iter(rows)))]
    for part, index in zip(kept, rows, strict=True):
        assert part.tolist() == index[10:12].tolist()


def test_batches_that_jax_took_without_a_copy_never_change():
    jax = pytest.importorskip("jax")
    x, y = numbered(width=64)
    rows = orders(40)
    add = jax.jit(lambda images, labels: (images + 0, labels.sum()))
    kept, sums = [], []
    for images, labels in ahead(Gathered(ArraySource((x, y), ROWS), iter(rows))):
        kept.append(jax.device_put(images))
        sums.append(add(images, labels))  # runs later than this loop goes on
    for put, (copied, total), index in zip(kept, sums, rows, strict=True):
        np.testing.assert_array_equal(put, x[index])
        np.testing.assert_array_equal(copied, x[index])
        assert int(total) == index.sum()


def test_at_most_three_batches_are_held_beyond_the_users_array():
    x, y = np.ones((2048, 2048), "float32"), np.arange(2048, dtype="int32")
    feed = training_feed(array_source(x, y), 256, True, 0, True, 3)
    tracemalloc.start()
    try:
        for _, batch in zip(range(40), feed):
            del batch
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 1 < peak / (256 * 2048 * 4) < 3.1


def test_an_array_that_cannot_be_read_ends_the_batches_with_its_error():
    class Broken:
        dtype, shape = np.dtype("float32"), (ROWS, 2)

        def take(self, index, axis):
            if 7 in index:
                raise OSError("disk")
            return np.zeros((len(index), 2), "float32")

    rows = [np.array([1, 2]), np.array([3, 7]), np.array([4, 5])]
    batches = ahead(Gathered(ArraySource((Broken(),), ROWS), iter(rows)))
    assert next(batches)[0].shape == (2, 2)
    with pytest.raises(OSError, match="disk"):
        next(batches)


def test_an_order_that_fails_is_told_to_the_reader():
    def indices():
        yield np.array([0])
        raise ValueError("order")

    batches = ahead(Gathered(array_source(*numbered()), indices()))
    with pytest.raises(ValueError, match="order"):
        list(batches)


def test_the_threads_end_when_nobody_reads_any_more():
    before = threading.active_count()
    batches = ahead(Gathered(array_source(*numbered()), index_batches(ROWS, 8, True, 0)))
    next(batches)
    assert threading.active_count() > before
    batches.close()
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_gathering_by_the_reader_counts_as_waiting_unless_the_device_is_at_work():
    waits = Waits()
    batches = ahead(Gathered(array_source(*numbered()), index_batches(ROWS, 400, True, 0)), waits=waits)
    began = time.perf_counter()
    for _ in range(50):
        next(batches)
    assert 0 <= waits.seconds <= time.perf_counter() - began
    busy = Waits()
    busy.device_busy = lambda: True
    batches = ahead(Gathered(array_source(*numbered()), index_batches(ROWS, 400, True, 0)), waits=busy)
    for _ in range(50):
        next(batches)
    assert busy.seconds == 0.0


@pytest.mark.parametrize(("size", "width"), [(1, 1), (64, 7), (64, 5000)])
def test_small_batches_gathered_in_one_go_are_cut_apart_again(size, width):
    x, y = numbered(width=width)
    rows = orders(70, size)
    source = ArraySource((x, y), ROWS)
    assert (len(Gathered(source, iter(rows)).next_indices()) > 1) == (width < 5000)
    seen = [(images[:, 0].tolist(), labels.tolist()) for images, labels in ahead(Gathered(source, iter(rows)))]
    assert seen == [(index.tolist(), index.tolist()) for index in rows]


@pytest.mark.parametrize("read", [lambda blocks: blocks, ahead], ids=["here", "in threads"])
def test_blocks_hold_batches_of_one_size_and_the_last_is_smaller(read):
    x, y = numbered()
    rows = orders(7, 64)
    gathered = Gathered(ArraySource((x, y), ROWS), iter(rows))
    gathered.give_blocks(3)
    blocks = list(read(gathered))
    assert [labels.shape for _, labels in blocks] == [(3, 64), (3, 64), (1, 64)]
    assert np.concatenate([labels for _, labels in blocks]).tolist() == [index.tolist() for index in rows]
    np.testing.assert_array_equal(blocks[1][0], x[np.stack(rows[3:6])])


@pytest.mark.parametrize(("width", "block"), [(7, 32), (16 * 1024, 2), (64 * 1024, 1)])
def test_a_block_has_as_many_batches_as_pay_and_at_least_one(width, block):
    x, y = numbered(width=width)
    assert block_of(ArraySource((x, y), ROWS), 100) == block


def test_rows_that_are_made_when_they_are_asked_for_come_one_batch_at_a_time():
    ragged = RaggedRows(np.arange(6.0, dtype="float32"), np.array([0, 1, 3, 6]))
    assert block_of(ArraySource((ragged,), 3), 2) == 1
    assert block_of(ArraySource((ragged.values,), 6), 2) == 32


def test_a_feed_counts_the_batches_of_its_blocks():
    x, y = numbered()
    feed = training_feed(array_source(x, y), 100, True, 0, True, 3)
    feed.waits.handing = True
    blocks = feed.blocks()
    first = next(blocks)
    assert first[0].shape == (32, 100, 7)
    began = time.perf_counter()
    assert feed.waits.of_steps(began - 60, began, 32) == pytest.approx(60, abs=5)  # all were handed over just now
    next(blocks)
    assert feed.batches_given == 64
    assert feed.shapes == {((100, 7), (100,))}
    blocks.close()


def test_tensorflow_is_fed_out_of_two_blocks(monkeypatch):
    tf = pytest.importorskip("tensorflow")
    from colab_tpu_magic.backends.feed_adapter import FeedAdapter

    x, y = numbered(width=16 * 1024)
    feed = training_feed(array_source(x, y), 64, True, 0, True, 3)
    feed.waits.handing = True
    opened, gathered = feed.open, []
    monkeypatch.setattr(feed, "open", lambda: gathered.append(opened()) or gathered[-1])

    @tf.function
    def sums(batches):
        return tf.reduce_sum([tf.reduce_sum(next(batches)[1]) for _ in range(4)])

    batches = iter(FeedAdapter(feed).get_tf_dataset())
    for _ in range(20):
        sums(batches)
    assert feed.block == 3 and gathered[0].ring.size == 2 * (3 * (x[:64].nbytes + y[:64].nbytes) + 64)
    feed.close()


@pytest.mark.parametrize(("width", "batches"), [(7, 70), (16 * 1024, 10), (80 * 1024, 6)], ids=["32", "4", "1 a block"])
def test_batches_that_tensorflow_took_without_a_copy_and_keeps_never_change(width, batches):
    tf = pytest.importorskip("tensorflow")
    from colab_tpu_magic.backends.feed_adapter import FeedAdapter

    x, y = numbered(width=width)
    feed = training_feed(array_source(x, y), 64, True, 0, True, 3)
    feed.waits.handing = True
    expected = list(islice(index_batches(ROWS, 64, True, 0), batches))
    dataset = FeedAdapter(feed).get_tf_dataset()
    assert dataset.element_spec[0].shape == (64, width)
    kept = list(dataset.take(batches))
    for (images, labels), index in zip(kept, expected, strict=True):
        assert isinstance(images, tf.Tensor)
        np.testing.assert_array_equal(labels.numpy(), index)
        np.testing.assert_array_equal(images.numpy(), x[index])
    tf.debugging.assert_equal(kept[0][0] + 1, x[expected[0]] + 1)


def test_tensorflow_starts_no_thread_to_tune_a_pipeline_that_has_nothing_to_tune():
    pytest.importorskip("tensorflow")
    from colab_tpu_magic.backends.feed_adapter import FeedAdapter

    feed = training_feed(array_source(*numbered()), 100, True, 0, True, 3)
    # An iterator waits for that thread when it ends, and the thread sleeps for up to a minute.
    assert FeedAdapter(feed).get_tf_dataset().options().autotune.enabled is False
