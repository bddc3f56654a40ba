"""A tf.data.Dataset in any form becomes batches: of single rows, ragged, sparse, of unknown shape."""

from __future__ import annotations

import numpy as np
import pytest

from colab_tpu_magic.errors import DataError
from colab_tpu_magic.rewrite.done import done_for
from colab_tpu_magic.rewrite.streams import read_data

tf = pytest.importorskip("tensorflow")
X = np.arange(22.0, dtype="float32").reshape(11, 2)
Y = np.arange(11, dtype="int32")
RAGGED = tf.ragged.constant([[n + 1] * (n % 4 + 1) for n in range(11)])


class Takes:
    """A model as far as its inputs go."""

    def __init__(self, *shapes):
        self.inputs = [np.empty([1 if n is None else n for n in shape]) for shape in shapes]

    def _flatten_layers(self, include_self=True):
        return []


def slices(*parts):
    return tf.data.Dataset.from_tensor_slices(parts if len(parts) > 1 else parts[0])


def sizes(batches):
    return [len(batch[0]) for batch in batches]


def test_single_rows_come_in_batches_of_the_calls_size():
    data = read_data(slices(X, Y), batch_size=4)
    assert (data.rows, data.batches, data.batch_size) == (11, 3, 4)
    assert sizes(data.open()) == [4, 4, 3]
    np.testing.assert_array_equal(np.concatenate([batch[0] for batch in data.open()]), X)
    assert [done.before for done in done_for("input-pipeline", data)] == ["single rows"]


def test_single_rows_are_batched_in_any_size_chosen_later():
    data = read_data(slices(X, Y), batch_size=4)
    assert sizes(data.of_size(8, False, "keep")) == [8, 3]
    endless = data.of_size(8, True, "fill")
    np.testing.assert_array_equal(np.concatenate([next(endless)[1] for _ in range(11)]), np.tile(Y, 8))


def test_batches_are_cut_to_another_size_without_losing_a_row():
    data = read_data(slices(X, Y).batch(3))
    endless = data.of_size(4, True, "fill")
    np.testing.assert_array_equal(np.concatenate([next(endless)[1] for _ in range(11)]), np.tile(Y, 4))
    last = list(data.of_size(4, False, "fill"))[-1]
    assert last[1].tolist() == [8, 9, 10, 0]


@pytest.mark.parametrize(
    ("dataset", "model", "single"),
    [
        (slices(X, Y), None, True),
        (slices(X, np.eye(11)), None, True),
        (slices(X), None, False),
        (slices(X), Takes((None, 2)), True),
        (slices(X).batch(4), Takes((None, 2)), False),
        (slices(X, Y).batch(4), None, False),
        (slices(X, Y).batch(2, drop_remainder=True), Takes((None, 2)), False),
        (slices(Y).batch(4), Takes((None, 1)), False),
        (slices(X, X), Takes((None, 2)), True),
    ],
)
def test_single_rows_are_told_from_batches(dataset, model, single):
    assert bool(read_data(dataset, model=model).done) == single


def test_unknown_shapes_are_taken_from_the_first_element():
    def rows():
        yield from zip(X, Y, strict=True)

    def batches():
        yield from ((X[i : i + 4], Y[i : i + 4]) for i in range(0, 11, 4))

    for make, done in ((rows, 1), (batches, 0)):
        dataset = tf.data.Dataset.from_generator(make, output_types=(tf.float32, tf.int32))
        data = read_data(dataset, batch_size=4)
        assert len(data.done) == done
        assert (data.batches, data.rows) == (None, None)
        np.testing.assert_array_equal(np.concatenate([batch[1] for batch in data.open()]), Y)
        assert not data.lengths.vary


@pytest.mark.parametrize("dataset", [slices(RAGGED, Y), slices(RAGGED, Y).batch(4)], ids=["rows", "batches"])
def test_ragged_rows_get_the_length_of_the_longest_beside_them(dataset):
    data = read_data(dataset, batch_size=4)
    assert data.lengths.axes == ((1,), ())
    batches = list(data.open())
    assert [batch[0].shape for batch in batches] == [(4, 4), (4, 4), (3, 3)]
    assert batches[0][0].tolist() == [[1, 0, 0, 0], [2, 2, 0, 0], [3, 3, 3, 0], [4, 4, 4, 4]]


def test_padded_batches_of_several_lengths_join_without_losing_a_row():
    lengths = [1, 2, 9, 3, 20, 4]
    rows = tf.data.Dataset.from_generator(
        lambda: ((np.full(n, n, "int32"), n) for n in lengths),
        output_signature=(tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)),
    )
    data = read_data(rows.padded_batch(1))
    joined = list(data.of_size(2, False, "keep"))
    assert [batch[0].shape for batch in joined] == [(2, 2), (2, 9), (2, 20)]
    assert [int((row != 0).sum()) for batch in joined for row in batch[0]] == lengths


def test_only_a_training_is_read_ahead():
    dataset = slices(RAGGED, Y).batch(2)
    assert len(read_data(dataset).lengths.seen) == 6
    assert len(read_data(dataset, ahead=False).lengths.seen) == 1


def test_sparse_tensors_are_written_out():
    dense = np.eye(6, dtype="float32")
    data = read_data(slices(tf.sparse.from_dense(dense), Y[:6]).batch(4))
    np.testing.assert_array_equal(np.concatenate([batch[0] for batch in data.open()]), dense)
    assert [done.before for done in done_for("input-pipeline", data)] == ["sparse tensors"]


def test_endless_single_rows_are_endless_batches():
    data = read_data(slices(X, Y).repeat(), batch_size=4)
    assert data.infinite and data.batches is None
    assert sizes(batch for batch, _ in zip(data.of_size(8, True, "fill"), range(3), strict=False)) == [8, 8, 8]


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: slices(["a", "b"], [0, 1]).batch(2), "gives text"),
        (lambda: iter(slices(X, Y).batch(2)), "an iterator of a tf.data.Dataset"),
        (lambda: slices(X, Y).batch(2).take(0), "is empty"),
        (lambda: "rows/*.tfrecord", "x is a path"),
        (lambda: "/tmp", "x is the path of a folder"),
    ],
)
def test_what_cannot_be_used_gets_one_clear_message(make, what):
    with pytest.raises(DataError, match=what) as caught:
        read_data(make())
    assert what == "is empty" or caught.value.type_next
