"""Rows in every form become arrays batch by batch, and what had to be made of them is kept to be told."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
import scipy.sparse

from colab_tpu_magic.errors import DataError
from colab_tpu_magic.rewrite.arrays import Rows, convert, part_of
from colab_tpu_magic.rewrite.arrays.integers import NarrowedRows, is_read_late
from colab_tpu_magic.rewrite.arrays.ragged import RaggedRows
from colab_tpu_magic.rewrite.arrays.sparse import SparseRows
from colab_tpu_magic.rewrite.rules.dtypes import device_dtypes
from colab_tpu_magic.rewrite.sources import array_source

DENSE = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 0], [4, 0, 5]])
Y = np.array([0, 1, 0, 1])


def lazy_rows():
    splits = np.array([0, 1, 3, 3, 6])
    return [SparseRows(scipy.sparse.csr_matrix(DENSE)), RaggedRows(np.arange(1.0, 7.0), splits)]


@pytest.mark.parametrize("rows", lazy_rows(), ids=["sparse", "ragged"])
def test_lazy_rows_answer_as_an_array_does(rows):
    array = rows[:]
    assert (len(rows), rows.ndim, rows.size, rows.nbytes) == (4, 2, array.size, array.nbytes)
    assert (rows.shape, rows.dtype) == (array.shape, array.dtype)
    for index in ([3, 0, 3], np.array([-1]), np.array([], int)):
        np.testing.assert_array_equal(rows.take(index, axis=0), array[np.asarray(index, int)])
    for part in (slice(1, 3), slice(None, 2), slice(2, 99), slice(4, 4)):
        np.testing.assert_array_equal(rows[part], array[part])
    np.testing.assert_array_equal(np.asarray(rows, "float32"), array.astype("float32"))


@pytest.mark.parametrize("rows", lazy_rows(), ids=["sparse", "ragged"])
def test_numpy_take_writes_lazy_rows_where_it_is_told(rows):
    out = np.full((2, 3), 9.0, "float32")
    np.take(rows, [3, 1], axis=0, out=out, mode="clip")
    np.testing.assert_array_equal(out, rows[:][[3, 1]])
    with pytest.raises(IndexError, match="row 4 of 4"):
        rows.take([4])
    with pytest.raises(ValueError, match="axis=0"):
        rows.take([0], axis=1)


@pytest.mark.parametrize("rows", lazy_rows(), ids=["sparse", "ragged"])
def test_parts_of_lazy_rows_are_lazy_and_can_be_parted_again(rows):
    part = part_of(part_of(rows, 1, 4), 1, 3)
    assert isinstance(part, Rows) and part.shape == (2, 3)
    np.testing.assert_array_equal(part[:], rows[2:4])
    np.testing.assert_array_equal(part.take([1, 0]), rows.take([3, 2]))


def test_ragged_rows_are_padded_to_the_longest():
    np.testing.assert_array_equal(lazy_rows()[1][:], [[1, 0, 0], [2, 3, 0], [0, 0, 0], [4, 5, 6]])
    inner = RaggedRows(np.ones((3, 2)), np.array([0, 2, 3]))
    assert inner.shape == (2, 2, 2) and inner[:].sum(axis=(1, 2)).tolist() == [4, 2]


@pytest.mark.parametrize(
    "make",
    [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_matrix, scipy.sparse.lil_array],
    ids=["csr", "csc", "coo", "lil"],
)
def test_sparse_data_is_made_dense_batch_by_batch_only(make, monkeypatch):
    source = array_source(make(DENSE), Y)
    made = []
    gather = SparseRows.gather
    monkeypatch.setattr(SparseRows, "gather", lambda self, rows: made.append(len(rows)) or gather(self, rows))
    train, validation = source.part(0, 3), source.part(3, 4)
    np.testing.assert_array_equal(train.take(np.array([1, 0]))[0], DENSE[[1, 0]])
    np.testing.assert_array_equal(validation.take(slice(0, 1))[0], DENSE[3:])
    assert made == [2, 1]
    assert source.conversions[0].before.startswith("x: sparse rows (c") or "lil" in source.conversions[0].before
    assert source.conversions[0].after == "each batch made dense as it is gathered"


def test_frames_of_one_kind_of_number_are_not_copied():
    values = np.arange(12.0).reshape(4, 3)
    assert np.shares_memory(convert(pandas.DataFrame(values, copy=False), "x")[0], values)


def test_frames_of_mixed_and_nullable_columns_become_float32():
    frame = pandas.DataFrame(
        {
            "whole": pandas.array([1, 2], "Int64"),
            "part": pandas.array([0.5, 1.5], "Float32"),
            "yes": [True, False],
            "maybe": pandas.array([False, True], "boolean"),
            "colour": pandas.Categorical(["red", "blue"]),
        }
    )
    array, conversion = convert(frame, "x")
    np.testing.assert_array_equal(array, [[1, 0.5, 1, 0, 1], [2, 1.5, 0, 1, 0]])
    assert array.dtype == np.float32
    assert conversion.before == "x: categories in the column colour" and conversion.after == "their numbers, from 0"


def test_series_become_columns_as_in_keras_and_weights_stay_a_line():
    assert convert(pandas.Series([1, 2]), "x")[0].tolist() == [[1], [2]]
    assert convert(pandas.Series([1, 2], dtype="Int64"), "y")[0].dtype == np.int64
    assert convert(pandas.Series([1.0, 2.0]), "sample_weight")[0].tolist() == [1, 2]
    labels, conversion = convert(pandas.Series(["b", "a", "b"], dtype="category"), "y")
    assert labels.tolist() == [[1], [0], [1]] and labels.dtype == np.int32
    assert (conversion.before, conversion.after) == ("y: categories", "their numbers, 0 to 1")


@pytest.mark.parametrize(
    ("data", "name", "what"),
    [
        (pandas.DataFrame({"a": [1.0], "town": ["x"]}), "x", "x holds text in the column town."),
        (pandas.Series(["a", "b"]), "y", "y holds text or Python objects"),
        (pandas.Series([1, None], dtype="Int64"), "x", "x has 1 missing value."),
        (pandas.DataFrame({"a": pandas.array([1, None, None], "Int64")}), "x", "x['a'] has 2 missing values."),
        (pandas.Series(pandas.Categorical(["a", None])), "y", "y has 1 missing value."),
        (pandas.DataFrame({"when": pandas.to_datetime(["2026-01-01"])}), "x", "x['when'] holds dates or times"),
    ],
)
def test_columns_that_are_no_numbers_are_named(data, name, what):
    with pytest.raises(DataError) as caught:
        convert(data, name)
    assert caught.value.what.startswith(what)
    assert caught.value.type_next


def test_a_missing_float_is_a_value_like_others():
    assert np.isnan(convert(pandas.DataFrame({"a": [1.0, None]}), "x")[0][1, 0])


def test_memory_maps_of_wide_integers_are_never_read_whole(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(60, dtype="int64").reshape(20, 3))
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert is_read_late(x) and is_read_late(np.asarray(x)[2:]) and not is_read_late(np.arange(3))
    source, casts = device_dtypes(array_source(x, np.arange(20)))
    assert casts == [("int64", "int32")] * 2 or casts == [("int64", "int32"), ("int64", "int32")]
    assert isinstance(source.tree[0], NarrowedRows) and isinstance(source.tree[1], np.ndarray)
    batch = source.take(np.array([19, 0]))
    assert batch[0].dtype == np.int32 and batch[0].tolist() == [[57, 58, 59], [0, 1, 2]]
    part = source.part(10, 20)
    assert part.take(slice(0, 1))[0].tolist() == [[30, 31, 32]]


def test_an_integer_too_wide_in_a_file_is_refused_by_the_batch_that_meets_it(tmp_path):
    values = np.memmap(tmp_path / "x.bin", "int64", "w+", shape=(8, 1))
    values[7] = 2**40
    source, _ = device_dtypes(array_source(values))
    assert source.take(slice(0, 7))[0].dtype == np.int32
    with pytest.raises(DataError, match="1099511627776, which does not fit in 32 bits"):
        source.take(slice(7, 8))


def test_a_memory_map_is_not_copied(tmp_path):
    x = np.memmap(tmp_path / "x.bin", "float32", "w+", shape=(8, 2))
    source = array_source(x, np.zeros(8))
    assert source.tree[0] is x
    assert np.shares_memory(source.part(2, 8).take(slice(0, 2))[0], x)


def test_tensors_of_tensorflow_in_every_kind():
    tf = pytest.importorskip("tensorflow")
    array, conversion = convert(tf.constant(DENSE), "x")
    assert conversion is None and np.array_equal(array, DENSE)
    rows, conversion = convert(tf.sparse.from_dense(DENSE), "x")
    assert isinstance(rows, SparseRows) and np.array_equal(rows[:], DENSE)
    assert conversion.before == "x: sparse rows (tf.SparseTensor)"
    cube = np.zeros((2, 2, 2), "float32")
    cube[1, 0, 1] = 3
    assert np.array_equal(convert(tf.sparse.from_dense(cube), "x")[0], cube)
    rows, conversion = convert(tf.ragged.constant([[1, 2], [3]]), "x")
    assert isinstance(rows, RaggedRows) and rows[:].tolist() == [[1, 2], [3, 0]]
    assert conversion.after == "each padded with zeros to the longest, 2"
    deep, _ = convert(tf.ragged.constant([[[1], [2, 3]], [[4]]]), "x")
    assert deep.tolist() == [[[1, 0], [2, 3]], [[4, 0], [0, 0]]]


def test_tensors_of_a_graph_are_named():
    tf = pytest.importorskip("tensorflow")
    caught = []

    @tf.function
    def graph(x):
        try:
            convert(x, "x")
        except DataError as error:
            caught.append(error.what)
        return x

    graph(tf.constant(1.0))
    assert caught == ["x is a SymbolicTensor without a value: a tensor of a graph."]


def test_arrays_of_jax_sparse_and_dense():
    jax = pytest.importorskip("jax")
    from jax.experimental import sparse

    assert np.array_equal(convert(jax.numpy.asarray(DENSE), "x")[0], DENSE)
    rows, conversion = convert(sparse.BCOO.fromdense(jax.numpy.asarray(DENSE)), "x")
    assert isinstance(rows, SparseRows) and np.array_equal(rows[:], DENSE)
    assert conversion.before == "x: sparse rows (BCOO)"


def test_tensors_of_torch_that_need_a_gradient():
    torch = pytest.importorskip("torch")
    assert convert(torch.ones(2, 3, requires_grad=True), "x")[0].tolist() == [[1.0] * 3] * 2
