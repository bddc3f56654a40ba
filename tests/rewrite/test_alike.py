"""Rows of alike length in one batch: each row once a pass, in an order that the seed decides, with less padding."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from colab_tpu_magic.rewrite.alike import Alike, AlikeGathered, row_lengths, table_for
from colab_tpu_magic.rewrite.arrays.integers import NarrowedRows
from colab_tpu_magic.rewrite.arrays.ragged import RaggedRows
from colab_tpu_magic.rewrite.dataset import training_feed
from colab_tpu_magic.rewrite.sources import ArraySource

RNG = np.random.default_rng(0)
LENGTHS = np.minimum(RNG.geometric(0.08, 203), 100)
ALIKE = Alike(0, LENGTHS, (8, 16, int(LENGTHS.max())))


def ragged(lengths=LENGTHS):
    """Rows that hold their own number from 1 on, so that a row cut short shows."""
    values = np.repeat(np.arange(1, len(lengths) + 1), lengths)
    return RaggedRows(values, np.concatenate([[0], np.cumsum(lengths)]))


@pytest.mark.parametrize("size", [1, 8, 29, 203, 500])
def test_each_row_comes_once_in_every_pass_whatever_the_batch(size):
    passes = 6
    steps = passes * 203 // size + (1 if passes * 203 % size else 0)
    batches = list(islice(ALIKE.indices(size, 3), steps))
    assert {len(batch) for batch in batches} == {size}
    line = np.concatenate(batches)
    counts = np.bincount(line[: passes * 203], minlength=203)
    # A batch that ends one pass begins the next, so only there a row may be seen once more or less.
    assert counts.min() >= passes - 1 and counts.max() <= passes + 1
    first = np.concatenate(batches[: -(-203 // size)])
    assert set(first.tolist()) == set(range(203))


def test_the_same_seed_gives_the_same_batches_and_another_one_others():
    def first(seed):
        return np.concatenate(list(islice(ALIKE.indices(16, seed), 30)))

    np.testing.assert_array_equal(first(1), first(1))
    assert (first(1) != first(2)).any()
    one_pass = first(1)[: 203 // 16 * 16].reshape(-1, 16)
    assert (np.sort(one_pass[0]) != one_pass[0]).any(), "shuffled within a batch"
    needed = [ALIKE.length(index) for index in one_pass]
    assert sorted(needed) != needed, "long and short batches come in a random order"


def test_batches_need_less_padding_than_the_longest_row_and_lose_no_value():
    rows, labels = ragged(), np.arange(203)
    source = ArraySource((rows, labels), 203, alike=ALIKE)
    given = list(islice(AlikeGathered(source, ALIKE.indices(16, 0)), 12))
    for x, y in given:
        assert x.shape[1] in ALIKE.table
        np.testing.assert_array_equal((x != 0).sum(axis=1), LENGTHS[y])
        assert all(set(row[row != 0]) <= {label + 1} for row, label in zip(x, y, strict=True))
    before, after = ALIKE.padding
    values = sum(x.size for x, _ in given)
    assert values < 0.6 * 12 * 16 * LENGTHS.max() and after < before
    assert before == pytest.approx(1 - LENGTHS.mean() / LENGTHS.max())


def test_the_feed_of_a_training_says_which_axis_is_free():
    feed = training_feed(ArraySource((ragged(), LENGTHS), 203, alike=ALIKE), 16, True, 0, True, 0)
    assert feed.free_axes == ((1,), ()) and feed.static_rows == 16
    assert {batch[0].shape[1] for batch in islice(feed, 12)} <= set(ALIKE.table)


def test_lengths_are_those_of_the_rows_of_a_part_also_as_narrower_integers():
    np.testing.assert_array_equal(row_lengths(NarrowedRows(ragged().part(20, 60))), LENGTHS[20:60])
    np.testing.assert_array_equal(row_lengths(NarrowedRows(ragged()).part(5, 9)), LENGTHS[5:9])
    assert row_lengths(np.zeros((4, 3))) is None


@pytest.mark.parametrize(
    ("lengths", "longest", "size", "most", "table"),
    [
        ([3] * 50 + [30] * 50, 40, 10, 4, (8, 32, 40)),
        ([3] * 50 + [30] * 50, 40, 60, 4, (40,)),  # fewer rows than a batch need 8, and no more 32
        ([3] * 50 + [30] * 50, 40, 10, 2, (8, 40)),  # the length that saves most stays
        ([3] * 50 + [30] * 50, 40, 10, 1, (40,)),
        ([3] * 100, 5, 10, 4, (5,)),
        ([64] * 50 + [7] * 50, 64, 10, 4, (8, 64)),
    ],
)
def test_the_lengths_are_few_and_each_fills_batches(lengths, longest, size, most, table):
    assert table_for(np.array(lengths), longest, size, most) == table
