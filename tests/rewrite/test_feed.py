"""Feeds: full batches without losing a row, exact last batches, errors and interrupts."""

from __future__ import annotations

import threading
import time
from itertools import islice

import numpy as np
import pytest

from colab_tpu_magic.rewrite.batches import even_pieces, index_batches, rebatch
from colab_tpu_magic.rewrite.dataset import evaluation_feed, prediction_feed, training_feed
from colab_tpu_magic.rewrite.feed import Feed, prefetched
from colab_tpu_magic.rewrite.sources import ArraySource, StreamSource


def source(rows):
    return ArraySource((np.arange(rows, dtype="float32").reshape(-1, 1), np.arange(rows)), rows)


def stream(sizes, once=False):
    def batches():
        start = 0
        for size in sizes:
            yield (np.arange(start, start + size).reshape(-1, 1), np.arange(start, start + size))
            start += size

    first = next(batches())
    single = batches()
    return StreamSource("list", (lambda: single) if once else batches, first, sizes[0], len(sizes), once=once)


def labels(batches):
    return [batch[1].tolist() for batch in batches]


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize(("rows", "size"), [(10, 4), (12, 4), (3, 8), (1, 8), (1003, 64)])
def test_every_pass_visits_each_row_once_in_full_batches(rows, size, shuffle):
    passes = 6
    stream_of_rows = np.concatenate(list(islice(index_batches(rows, size, shuffle, 7), -(-rows * passes // size))))
    assert len(stream_of_rows) % size == 0
    for number in range(len(stream_of_rows) // rows):
        assert sorted(stream_of_rows[number * rows : (number + 1) * rows]) == list(range(rows))


def test_unshuffled_rows_come_in_order_and_go_on_where_they_stopped():
    batches = islice(index_batches(5, 3, False, 0), 4)
    assert [b.tolist() for b in batches] == [[0, 1, 2], [3, 4, 0], [1, 2, 3], [4, 0, 1]]


def test_order_depends_on_the_seed_alone():
    first, again, other = (next(index_batches(100, 50, True, seed)).tolist() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(
    ("sizes", "size", "last", "expected"),
    [
        ([3, 3, 3], 3, "keep", [3, 3, 3]),
        ([3, 3, 3], 4, "keep", [4, 4, 1]),
        ([10], 4, "keep", [4, 4, 2]),
        ([1, 1, 1, 1, 1], 2, "keep", [2, 2, 1]),
        ([3, 3], 4, "fill", [4, 4]),
        ([2], 8, "fill", [8]),
        ([5, 1, 7], 6, "fill", [6, 6, 6]),
    ],
)
def test_batches_are_cut_and_joined_in_order(sizes, size, last, expected):
    total = sum(sizes)
    out = list(rebatch(stream(sizes).open(), size, last))
    assert [len(batch[1]) for batch in out] == expected
    flat = sum(labels(out), [])
    assert flat[:total] == list(range(total))
    assert all(row in range(sizes[0]) for row in flat[total:])


@pytest.mark.parametrize(
    ("rows", "pieces"), [(8, [8]), (16, [16]), (3, [3]), (11, [8, 3]), (1, [1]), (1003, [1000, 3])]
)
def test_last_batch_is_split_so_that_every_replica_has_a_share(rows, pieces):
    assert [len(piece[1]) for piece in even_pieces(source(rows).take(slice(None)), 8)] == pieces


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 64, 100, 1003])
def test_evaluation_gives_every_row_once_in_order_and_says_how_many_batches(rows):
    feed = evaluation_feed(source(rows), 64, 8, None, 0)
    batches = list(feed)
    assert sum(labels(batches), []) == list(range(rows))
    assert len(batches) == feed.batches
    assert all(len(batch[1]) % 8 == 0 or len(batch[1]) < 8 for batch in batches)


def test_evaluation_stops_at_the_limit_in_the_middle_of_a_batch():
    assert sum(labels(evaluation_feed(source(100), 64, 8, 70, 2)), []) == list(range(70))
    assert sum(labels(evaluation_feed(stream([30, 30, 30]), 16, 8, 40, 0)), []) == list(range(40))


@pytest.mark.parametrize("rows", [1, 7, 8, 64, 65, 1003])
def test_prediction_pads_with_the_last_row_and_remembers_the_true_rows(rows):
    feed, given = prediction_feed(source(rows), min(64, -(-rows // 8) * 8), 8, None, 0)
    batches = list(feed)
    assert sum(true for true, _ in given) == rows
    assert [padded for _, padded in given] == [len(batch[0]) for batch in feed]
    assert len({len(batch[1]) for batch in batches}) == 1
    assert all(len(batch[1]) % 8 == 0 for batch in batches)
    flat = sum(labels(batches), [])
    assert flat[:rows] == list(range(rows)) and set(flat[rows:]) <= {rows - 1}


def test_training_feed_of_a_stream_is_endless_and_full():
    feed = training_feed(stream([3, 3, 1]), 4, True, 0, True, 0)
    assert feed.static_rows == 4 and feed.batches is None
    assert labels(islice(iter(feed), 4)) == [[0, 1, 2, 3], [4, 5, 6, 0], [1, 2, 3, 4], [5, 6, 0, 1]]


def test_source_that_is_read_once_gives_its_first_batch_again():
    feed = training_feed(stream([2, 2, 2], once=True), 2, False, 0, True, 2)
    assert labels(islice(iter(feed), 1)) == [[0, 1]]
    assert labels(feed) == [[0, 1], [2, 3], [4, 5]]


def test_not_full_training_feed_has_a_new_order_each_pass():
    feed = training_feed(source(20), 8, True, 3, False, 0)
    first, second = labels(feed), labels(feed)
    assert [len(batch) for batch in first] == [8, 8, 4] and feed.batches == 3
    assert sorted(sum(first, [])) == sorted(sum(second, [])) == list(range(20))
    assert first != second


def broken(after):
    def batches():
        for number in range(after):
            yield (np.full((2, 1), number), np.full(2, number))
        raise OSError("disk")

    return batches


@pytest.mark.parametrize("prefetch", [0, 2])
def test_error_of_the_data_is_raised_and_kept(prefetch):
    feed = Feed(broken(3), (np.zeros((1, 1)), np.zeros(1)), 2, 2, None, prefetch)
    seen = []
    with pytest.raises(OSError, match="disk"):
        seen.extend(feed)
    assert len(seen) == 3
    assert isinstance(feed.error, OSError)


def test_held_error_ends_the_feed_quietly():
    feed = Feed(broken(3), (np.zeros((1, 1)), np.zeros(1)), 2, 2, None, 2, hold_errors=True)
    assert len(list(feed)) == 3
    assert isinstance(feed.error, OSError)


def test_interrupt_ends_a_feed_that_waits_for_data():
    release = threading.Event()

    def slow():
        yield (np.zeros((1, 1)), np.zeros(1))
        release.wait(30)
        yield (np.zeros((1, 1)), np.zeros(1))

    feed = Feed(slow, (np.zeros((1, 1)), np.zeros(1)), 1, 1, None, 2)
    batches = iter(feed)
    next(batches)
    threading.Timer(0.2, feed.interrupted.set).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    assert time.monotonic() - started < 10
    release.set()


def test_thread_of_a_feed_ends_when_nobody_reads_it_any_more():
    before = threading.active_count()
    batches = prefetched(iter(range(10**9)), 2, threading.Event())
    assert next(batches) == 0
    batches.close()
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_feed_holds_only_a_few_batches_ahead():
    made = []

    def batches():
        for number in range(100):
            made.append(number)
            yield (np.zeros((1, 1)), np.zeros(1))

    reader = iter(Feed(batches, (np.zeros((1, 1)), np.zeros(1)), 1, 1, None, 3))
    next(reader)
    time.sleep(0.3)
    assert len(made) <= 6


def test_a_feed_that_looks_ahead_knows_its_last_batch_when_it_gives_it():
    from colab_tpu_magic.rewrite.feed import Feed

    batch = (np.zeros((2, 1)),)
    feed = Feed(lambda: iter([batch] * 3), batch, 2, None, None, prefetch=0, look_ahead=True)
    for _ in range(2):
        known = []
        for _batch in feed:
            known.append(feed.last)
        assert known == [None, None, 3]
        feed.end_before(2)
        with pytest.raises(StopIteration):
            feed.end_before(3)


@pytest.mark.parametrize("inside", [False, True])
def test_threads_end_also_where_a_thread_of_tensorflow_has_the_iterator(inside):
    before = set(threading.enumerate())
    feed = training_feed(ArraySource((np.zeros((64, 4), "float32"),), 64), 8, True, 0, True, 3)
    feed.waits.handing = True
    blocks = feed.blocks()
    next(blocks)
    if inside:
        threading.Thread(target=list, args=(blocks,), daemon=True).start()
    feed.close()
    deadline = time.monotonic() + 5
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not set(threading.enumerate()) - before


def test_a_pass_that_was_left_ends_its_threads_when_the_next_begins():
    before = set(threading.enumerate())
    feed = training_feed(ArraySource((np.zeros((64, 4), "float32"),), 64), 8, True, 0, True, 3)
    feed.waits.handing = True
    left, second = feed.blocks(), None
    next(left)
    second = feed.blocks()
    assert next(second)[0].shape[1:] == (8, 4)
    deadline = time.monotonic() + 5
    while len(set(threading.enumerate()) - before) > 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(set(threading.enumerate()) - before) == 1
    feed.close()
