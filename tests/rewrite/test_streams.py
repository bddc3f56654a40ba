"""Batches in every form: how many passes, what is told when, and what is refused."""

from __future__ import annotations

import functools

import keras
import numpy as np
import pytest

from colab_tpu_magic.errors import DataError
from colab_tpu_magic.rewrite.arrays.records import RecordRows
from colab_tpu_magic.rewrite.dataset import evaluation_feed, training_feed
from colab_tpu_magic.rewrite.sources import ArraySource
from colab_tpu_magic.rewrite.streams import bounded, read_data

X = np.arange(24.0, dtype="float32").reshape(12, 2)
Y = np.arange(12, dtype="int32")


def batches(size=4):
    for start in range(0, 12, size):
        yield X[start : start + size], Y[start : start + size]


def labels(passes):
    return np.concatenate([batch[1] for batch in passes]).tolist()


def test_a_generator_function_is_called_for_each_pass():
    calls = []

    def made():
        calls.append(1)
        yield from batches()

    source = read_data(made)
    assert (source.form, source.once, source.infinite, len(calls)) == ("generator function", False, False, 1)
    assert labels(source.open()) == labels(source.open()) == list(range(12))
    assert len(calls) == 2, "the pass that showed the first batch is the first that is given out"


def test_a_function_that_returns_data_is_called_once_and_read_as_what_it_returns():
    assert isinstance(read_data(lambda: (X, Y)), ArraySource)
    assert len(read_data(lambda: (X, Y, Y)).tree) == 3
    assert len(read_data(lambda: {"a": X}).tree) == 1
    tf = pytest.importorskip("tensorflow")
    assert read_data(lambda: (tf.constant(X), tf.constant(Y))).tree[1].tolist() == list(range(12))
    assert read_data(lambda: tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)).form == "tf.data.Dataset"


@pytest.mark.parametrize(
    ("function", "given", "size"),
    [
        (lambda batch_size: batches(batch_size), 6, 6),
        (lambda batch_size: batches(batch_size), None, 12),
        (lambda batch_size=3: batches(batch_size), None, 3),
        (lambda batch_size=3: batches(batch_size), 6, 6),
        (lambda params: batches(params["batch_size"]), 6, 6),
        (functools.partial(batches, 2), None, 2),
    ],
    ids=["needed", "needed, not given", "default", "default, given", "params", "partial"],
)
def test_a_function_that_asks_for_the_batch_size_gets_it(function, given, size):
    assert read_data(function, batch_size=given).batch_size == size


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda mode, features: None, "The function <lambda> needs mode, features."),
        (lambda: None, "The function <lambda> returned nothing."),
        (lambda: iter(()), "The generator function is empty."),
        (keras.layers.Dense(1), "x is a Dense, a layer or model."),
        (keras.utils.PyDataset, "x is the class PyDataset."),
    ],
)
def test_functions_that_give_no_data_are_named(function, what):
    with pytest.raises(DataError) as caught:
        read_data(function)
    assert caught.value.what == what


def test_iterators_are_read_once_and_iterables_again():
    class Loader:
        def __iter__(self):
            return batches()

        def __len__(self):
            return 3

    iterator, iterable = read_data(iter(list(batches()))), read_data(Loader())
    assert (iterator.form, iterator.once, iterator.batches) == ("iterator", True, None)
    assert (iterable.form, iterable.once, iterable.batches) == ("Loader", False, 3)
    assert labels(iterable.open()) == labels(iterable.open()) == list(range(12))


def test_a_list_is_several_inputs_and_not_several_batches():
    assert read_data([X, X]).rows == 12


def test_parts_of_a_generator_pass_go_on_where_the_last_ended():
    source = read_data(batches()).first(2)
    assert labels(source.open()) == list(range(8))
    assert labels(source.open()) == list(range(8, 12))


def test_a_validation_generator_goes_on_in_the_next_epoch():
    source, limit = bounded(read_data(batches(2)), 3, 2, "validation_steps")
    feed = evaluation_feed(source, 4, 1, limit, 2)
    assert labels(feed) == [0, 1, 2, 3, 4, 5]
    assert labels(feed) == [6, 7, 8, 9, 10, 11]


def test_a_training_reads_no_batch_of_a_generator_that_it_does_not_need():
    given = []

    def endless():
        for number in range(100):
            given.append(number)
            yield X[:4], Y[:4]

    generator = endless()
    assert len(list(training_feed(read_data(generator), 4, False, 0, True, 3, most=5))) == 5
    assert given == [0, 1, 2, 3, 4]
    assert len(list(training_feed(read_data(generator), 2, False, 0, True, 3, most=5))) == 5
    assert given == list(range(8)), "batches of 2 cut from batches of 4: three of them for five"


class Told(keras.utils.PyDataset):
    """Three batches of four rows that writes down what it is told, and shuffles in place at the end of a pass."""

    def __init__(self, **arguments):
        super().__init__(**arguments)
        self.told, self.rows = [], Y.copy()

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return X[index * 4 : index * 4 + 4], self.rows[index * 4 : index * 4 + 4]

    def on_epoch_begin(self):
        self.told.append("begin")

    def on_epoch_end(self):
        self.told.append("end")
        self.rows += 100


@pytest.mark.parametrize("arguments", [{}, {"workers": 2}, {"workers": 2, "use_multiprocessing": True}])
def test_a_py_dataset_is_told_once_of_each_pass_and_its_batches_stay_as_they_were(arguments):
    dataset = Told(**arguments)
    source = read_data(dataset)
    assert source.remark == ("2 threads instead of processes" if len(arguments) == 2 else "")
    first, second = list(source.open()), list(source.open())
    assert dataset.told == ["begin", "end", "begin", "end"]
    assert (labels(first), labels(second)) == (list(range(12)), list(range(100, 112)))


def test_a_py_dataset_is_told_of_its_end_though_nobody_asks_for_more():
    dataset = Told()
    assert len(list(training_feed(read_data(dataset), 4, False, 0, True, 0, most=6))) == 6
    assert dataset.told == ["begin", "end", "begin", "end"]


def test_a_py_dataset_without_length_never_ends():
    class Endless(Told):
        @property
        def num_batches(self):
            return None

        def __getitem__(self, index):
            return X[:4], np.full(4, index)

    for workers in (1, 2):
        source = read_data(Endless(workers=workers))
        assert source.infinite and labels(source.first(3).open()) == [0] * 4 + [1] * 4 + [2] * 4
    with pytest.raises(DataError, match="The PyDataset never ends"):
        bounded(source, None, 4, "steps")


@pytest.mark.parametrize(
    ("batch", "arguments", "what"),
    [
        ((X[0], Y[0]), {}, "The generator gives single rows."),
        ((X, Y[:3]), {}, "A batch of the generator has parts of 3 and 12 rows."),
        ((X, Y, Y), {"class_weight": {0: 2.0}}, "class_weight was given, and the generator gives sample weights."),
        ((X, {"a": Y, "b": Y}), {"class_weight": {0: 2.0}}, "class_weight needs a single array of labels."),
        ((X, Y), {"class_weight": [1.0, 2.0]}, "class_weight is a list."),
    ],
)
def test_batches_that_cannot_be_used_are_named(batch, arguments, what):
    with pytest.raises(DataError) as caught:
        read_data((one for one in [batch]), **arguments)
    assert caught.value.what == what


def test_class_weights_reach_the_batches_of_a_generator():
    source = read_data(batches(), class_weight={3: 5.0})
    assert np.concatenate([batch[2] for batch in source.open()]).tolist() == [1, 1, 1, 5] + [1] * 8


def test_sparse_batches_and_lists_become_arrays_and_are_told():
    import scipy.sparse

    source = read_data((scipy.sparse.csr_matrix(x), y.tolist()) for x, y in batches())
    np.testing.assert_array_equal(next(source.open())[0], X[:4])
    assert [conversion.before for conversion in source.conversions] == ["x: sparse rows (csr_matrix)"]


def test_integers_that_do_not_fit_are_refused_in_a_later_batch_too():
    from dataclasses import replace

    source = read_data(np.array([[value]]) for value in (1, 2**40))
    with pytest.raises(DataError, match="does not fit in 32 bits"):
        list(replace(source, dtypes=(np.dtype("int32"),)).passes(forever=False))


def test_grain_datasets_give_batches_or_rows():
    grain = pytest.importorskip("grain")
    rows = grain.MapDataset.range(12).map(lambda i: (X[i], Y[i]))
    by_number = read_data(rows)
    assert isinstance(by_number, ArraySource) and isinstance(by_number.tree[0], RecordRows)
    np.testing.assert_array_equal(by_number.take(np.array([11, 2]))[0], X[[11, 2]])
    assert by_number.part(4, 12).take(slice(0, 2))[1].tolist() == [4, 5]
    batched = read_data(rows.batch(5))
    assert (batched.form, batched.batches, batched.infinite) == ("grain MapDataset", 3, False)
    assert labels(batched.open()) == labels(batched.open()) == list(range(12))
    assert read_data(rows.batch(5).repeat()).infinite
    stream = read_data(rows.to_iter_dataset().batch(6))
    assert (stream.form, stream.batches, labels(stream.open())) == ("grain IterDataset", None, list(range(12)))
    loader = grain.DataLoader(
        data_source=rows,
        sampler=grain.samplers.IndexSampler(12, shard_options=grain.sharding.NoSharding(), num_epochs=1),
        operations=[grain.transforms.Batch(4)],
    )
    assert labels(read_data(loader).open()) == list(range(12))


def test_a_data_source_of_tensorflow_datasets_is_read_by_number():
    from types import SimpleNamespace

    class Source:
        """What tfds.data_source returns, as far as it is used; the real one needs a data set on disk."""

        dataset_info = SimpleNamespace(name="digits", supervised_keys=("image", "label"))

        def __len__(self):
            return 12

        def __getitem__(self, index):
            return {"image": X[index], "label": Y[index], "id": str(index)}

    source = read_data(Source())
    x, y = source.take(np.array([7, 3]))
    assert source.rows == 12 and y.tolist() == [7, 3] and x.tolist() == X[[7, 3]].tolist()
    Source.dataset_info = SimpleNamespace(name="digits", supervised_keys=None)
    with pytest.raises(DataError, match="does not say which of its features are x and y"):
        read_data(Source())
