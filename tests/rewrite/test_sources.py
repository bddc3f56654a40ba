"""Data in every form becomes rows by index or a stream; what cannot be used is named."""

from __future__ import annotations

import threading

import numpy as np
import pandas
import pytest

from colab_tpu_magic.errors import DataError
from colab_tpu_magic.rewrite.request import read_validation
from colab_tpu_magic.rewrite.rules.dtypes import device_dtypes
from colab_tpu_magic.rewrite.sources import ArraySource, StreamSource, array_source, class_weights
from colab_tpu_magic.rewrite.streams import read_data

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 0, 1, 1, 1])


@pytest.mark.parametrize(
    "x",
    [X, X.tolist(), pandas.DataFrame(X), pandas.DataFrame(X)[0]],
    ids=["numpy", "list", "DataFrame", "Series"],
)
def test_arrays_in_every_form_give_the_same_rows(x):
    data = read_data(x, Y)
    assert isinstance(data, ArraySource) and data.rows == 6
    picked = data.take(np.array([4, 0]))
    np.testing.assert_array_equal(picked[0], np.asarray(x).reshape(6, -1)[[4, 0]])
    np.testing.assert_array_equal(picked[1], [1, 0])


def test_nested_inputs_keep_their_structure():
    data = read_data({"a": X, "b": [X[:, 0], X[:, 1]]}, (Y, Y))
    x, y = data.take(slice(1, 3))
    assert set(x) == {"a", "b"} and len(y) == 2
    np.testing.assert_array_equal(x["b"][1], [3.0, 5.0])


def test_arrays_are_not_copied():
    assert array_source(X, Y).tree[0] is X
    assert np.shares_memory(array_source(X, Y).take(slice(0, 3))[0], X)


def test_rows_are_cast_batch_by_batch_and_the_array_stays():
    data, casts = device_dtypes(array_source(X, Y, np.ones(6)))
    batch = data.take(slice(0, 2))
    assert [str(part.dtype) for part in batch] == ["float32", "int32", "float32"]
    assert casts == [("float64", "float32"), ("int64", "int32"), ("float64", "float32")]
    assert X.dtype == np.float64


@pytest.mark.parametrize(
    ("dtype", "target"),
    [("uint8", "uint8"), ("int32", "int32"), ("float16", "float16"), ("uint32", "int32"), ("bool", "float32")],
)
def test_only_types_that_a_tpu_lacks_are_cast(dtype, target):
    data, _ = device_dtypes(array_source(np.ones((2, 1), dtype)))
    assert str(data.example[0].dtype) == target


def test_integer_beyond_32_bits_is_refused():
    with pytest.raises(DataError, match="9999999999, which does not fit in 32 bits"):
        device_dtypes(array_source(np.array([[1], [9_999_999_999]])))


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (([], []), "There is no data: x is empty."),
        ((np.zeros((0, 3)), np.zeros(0)), "The data has no rows."),
        ((X, Y[:-1]), "The data does not match: x has 6 rows, y has 5 rows."),
        ((None,), "There is no data: x is empty."),
        ((np.array(["a", "b"]),), "x holds text or Python objects (dtype <U1)."),
        ((X, np.array([None] * 6)), "y holds text or Python objects (dtype object)."),
        ((np.float32(3.0),), "x is a single number."),
        ((object(),), "x is a object."),
        (([[1.0, 2.0], [3.0]],), "x is a list of lists of different lengths."),
        ((X, (Y, None)), "y has a part that is None."),
        ((ArraySource,), "x is the class ArraySource."),
    ],
)
def test_data_that_cannot_be_used_is_named(arguments, what):
    with pytest.raises(DataError) as caught:
        read_data(*arguments)
    assert caught.value.what == what


@pytest.mark.parametrize(
    ("arguments", "type_next"),
    [
        ((X, np.array(list("abcabc"))), "y = numpy.unique(y, return_inverse=True)[1]"),
        ((np.array([1.0, 2.0], object),), 'x = numpy.asarray(x, "float32")'),
    ],
)
def test_text_and_objects_get_a_line_that_can_be_typed(arguments, type_next):
    with pytest.raises(DataError) as caught:
        read_data(*arguments)
    assert caught.value.type_next == type_next


LISTS = [[1, 2], [3], [4, 5, 6]]
ROWS = [np.array(row) for row in LISTS]
OBJECTS = np.array([*LISTS, None], dtype=object)[:3]
PADDED_LISTS = [[1, 2, 0], [3, 0, 0], [4, 5, 6]]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (LISTS, "{} is a list of lists of different lengths."),
        (OBJECTS, "{} is an array of objects, a list in each row."),
        (np.array([*ROWS, None], dtype=object)[:3], "{} is an array of objects, an ndarray in each row."),
        (ROWS, "{} is a list of 3 arrays of different lengths, 1 to 3."),
        (tuple(ROWS), "{} is a tuple of 3 arrays of different lengths, 1 to 3."),
        (pandas.Series(LISTS), "{} is a Series of objects, a list in each row."),
    ],
    ids=["lists", "objects", "objects of arrays", "arrays", "tuple", "Series"],
)
@pytest.mark.parametrize("name", ["x", "y"])
def test_rows_of_different_lengths_get_a_line_that_pads_them(given, what, name):
    import keras

    with pytest.raises(DataError) as caught:
        read_data(*((given, np.ones(3)) if name == "x" else (np.ones((3, 1)), given)))
    assert caught.value.what == what.format(name)
    typed = {"keras": keras, name: given}
    exec(caught.value.type_next, typed)
    assert typed[name].tolist() == PADDED_LISTS


def test_the_line_that_pads_keeps_fractions_and_names_a_column():
    import keras

    with pytest.raises(DataError) as caught:
        read_data([[0.5], [1.5, 2.5]], np.ones(2))
    typed = {"keras": keras, "x": [[0.5], [1.5, 2.5]]}
    exec(caught.value.type_next, typed)
    assert typed["x"].tolist() == [[0.5, 0.0], [1.5, 2.5]]
    with pytest.raises(DataError) as caught:
        read_data(pandas.DataFrame({"size": [1, 2], "tokens": [[1], [2, 3]]}), np.ones(2))
    assert caught.value.what == "x['tokens'] is a Series of objects, a list in each row."
    assert caught.value.type_next == "tokens = keras.utils.pad_sequences(x['tokens'], padding=\"post\")"


def test_parts_of_many_lengths_are_counted_and_not_listed():
    with pytest.raises(DataError) as caught:
        array_source([np.ones((rows, 2)) for rows in range(1, 30)], np.ones(6))
    assert caught.value.what == "The data does not match: x has 1 to 29 rows, y has 6 rows."


@pytest.mark.parametrize("given", [np.array([], str), [], np.array([])], ids=["array", "list", "numbers"])
def test_no_rows_are_named_also_where_a_model_begins_with_text(given):
    import keras

    layer = keras.layers.StringLookup(vocabulary=["a"])
    model = keras.Sequential([keras.Input((), dtype="string"), layer, keras.layers.Embedding(3, 2)])
    with pytest.raises(DataError) as caught:
        read_data(given, model=model)
    assert caught.value.what in ("The data has no rows.", "There is no data: x is empty.")


def test_a_frame_for_a_model_of_several_inputs_gets_the_line_that_makes_a_dict_of_it():
    import keras

    inputs = {name: keras.Input((1,), name=name) for name in ("a", "b")}
    model = keras.Model(inputs, keras.layers.Add()(list(inputs.values())))
    frame = pandas.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(DataError) as caught:
        read_data(frame, model=model)
    assert caught.value.what == "x is a DataFrame, one array for Keras, and the model takes 2 inputs: a, b."
    typed = {"x": frame}
    exec(caught.value.type_next, typed)
    assert read_data(typed["x"], model=model).tree[0]["b"].tolist() == [[2.0]]


@pytest.mark.parametrize("given", [np.zeros((4, 0)), {"a": np.zeros((4, 0, 3))}])
def test_rows_without_a_value_are_named(given):
    with pytest.raises(DataError, match="hold no value"):
        read_data(given, np.ones(4))


def test_a_list_of_batches_is_told_from_a_list_of_inputs():
    one, two = (np.zeros((4, 2)), np.zeros(4)), (np.zeros((3, 2)), np.zeros(3))
    with pytest.raises(DataError, match="x is a list of batches") as refused:
        read_data([one, two])
    assert refused.value.type_next == "model.fit(lambda: iter(batches))"
    with pytest.raises(DataError, match="validation_data is a list of batches"):
        read_validation([one, two, one, two])
    assert read_validation((*one,)).rows == 4 and read_data([one[0], one[0]], one[1]).rows == 4


def test_class_weights_become_one_weight_per_row():
    assert class_weights(Y, {0: 2.0}).tolist() == [2, 1, 2, 1, 1, 1]
    one_hot = np.eye(2)[Y]
    assert class_weights(one_hot, {1: 3.0}).tolist() == [1, 3, 1, 3, 3, 3]
    assert class_weights(Y.reshape(-1, 1), {1: 3.0}).tolist() == [1, 3, 1, 3, 3, 3]


def test_class_weight_and_sample_weight_together_are_refused():
    with pytest.raises(DataError, match="Both class_weight and sample_weight"):
        read_data(X, Y, np.ones(6), {0: 1.0})


def test_generator_is_a_stream_read_once():
    data = read_data((X[i : i + 2], Y[i : i + 2]) for i in range(0, 6, 2))
    assert isinstance(data, StreamSource) and data.once and data.batch_size == 2
    rows = np.concatenate([batch[0] for batch in data.passes(forever=True)])
    np.testing.assert_array_equal(rows, X)


def test_a_generator_that_a_fit_before_still_reads_is_named():
    asked, go_on = threading.Event(), threading.Event()

    def slow():
        asked.set()
        go_on.wait(10)
        yield np.zeros((2, 3)), np.zeros(2)

    generator = slow()
    reading = threading.Thread(target=next, args=(generator,))
    reading.start()
    asked.wait(10)
    with pytest.raises(DataError, match="still makes a batch for the fit that was interrupted"):
        read_data(generator)
    go_on.set()
    reading.join(10)


def test_empty_generator_is_refused():
    with pytest.raises(DataError, match="The generator is empty"):
        read_data(iter(()) if False else (x for x in ()))


def test_batch_with_too_many_parts_is_refused():
    with pytest.raises(DataError, match="A batch of the generator has 4 parts"):
        read_data(x for x in [(X, Y, Y, Y)])


def test_targets_beside_a_dataset_are_refused():
    with pytest.raises(DataError, match="x is a generator, and y"):
        read_data((x for x in [(X, Y)]), Y)


def test_tf_dataset_is_a_stream_that_can_be_read_again():
    tf = pytest.importorskip("tensorflow")
    data = read_data(tf.data.Dataset.from_tensor_slices((X, Y)).batch(4))
    assert (data.form, data.batches, data.infinite, data.once, data.batch_size) == (
        "tf.data.Dataset",
        2,
        False,
        False,
        4,
    )
    assert [[len(batch[1]) for batch in data.open()] for _ in range(2)] == [[4, 2]] * 2
    assert read_data(tf.data.Dataset.from_tensor_slices((X, Y)).batch(4).repeat()).infinite
