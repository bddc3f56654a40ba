"""Which axes may vary: those that the model leaves open, or that the first batches were seen to differ in."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from colab_tpu_magic.errors import DataError
from colab_tpu_magic.rewrite.dataset import prediction_feed, true_rows
from colab_tpu_magic.rewrite.open_axes import checked, open_axes, settled
from colab_tpu_magic.rewrite.streams import LOOK_AHEAD_BATCHES, read_data

NO_INPUT = keras.Sequential([keras.layers.Dense(1)])


def tagger(length=None):
    return keras.Sequential([keras.Input((length, 3)), keras.layers.Dense(5)])


def two_inputs():
    words, sizes = keras.Input((None,), name="words"), keras.Input((4,), name="sizes")
    pooled = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(9, 4)(words))
    return keras.Model([sizes, words], keras.layers.Add()([pooled, sizes]))


def batch(*shapes):
    return tuple(np.ones(shape, "float32") for shape in shapes)


@pytest.mark.parametrize(
    ("model", "given", "axes"),
    [
        (tagger(), batch((2, 7, 3), (2, 7, 5), (2, 7)), ((1,), (1,), (1,))),
        (tagger(), batch((2, 7, 3), (2, 7), (2,)), ((1,), (1,), ())),
        (tagger(), batch((2, 7, 3)), ((1,),)),
        (tagger(7), batch((2, 7, 3), (2, 7, 5)), ((), ())),
        (tagger(7), batch((2, 7, 3), (2, 1)), ((), ())),
        (tagger(7), batch((2, 7, 3), (2, 4)), ((), None)),
        (None, batch((2, 7, 3), (2,)), ((), ())),
        (NO_INPUT, batch((2, 7), (2,)), (None, ())),
        (two_inputs(), ({"words": np.ones((2, 6)), "sizes": np.ones((2, 4))}, np.ones((2, 4))), ((), (1,), ())),
        (two_inputs(), ([np.ones((2, 4)), np.ones((2, 6))], np.ones((2, 4))), ((), (1,), ())),
    ],
    ids=["targets", "numbers", "x alone", "fixed", "column", "labels of their own", "none", "no Input", "dict", "list"],
)
def test_the_open_axes_are_those_of_the_model(model, given, axes):
    assert open_axes(model, given) == axes


def test_shapes_that_keras_took_from_the_first_batch_bind_nothing():
    model = keras.Sequential([keras.layers.Embedding(9, 2), keras.layers.GlobalAveragePooling1D()])
    model.build((2, 6))
    assert open_axes(model, batch((2, 6), (2, 2))) == (None, None)


def test_where_the_model_does_not_tell_the_axes_are_those_that_were_seen_to_differ():
    seen = [batch((2, 6, 3), (2, 4)), batch((2, 8, 3), (2, 4))]
    assert settled((None, None), seen) == ((1,), ())
    assert settled((None, (1,)), seen[:1]) == ((), (1,))
    assert settled((None, ()), seen[:1]) == ()


@pytest.mark.parametrize(
    ("second", "what", "type_next"),
    [
        (batch((2, 9, 3), (2, 4)), "x is (2, 6, 3) in the first and (2, 9, 3) in another", "keras.Input((None, 3))"),
        (batch((2, 6), (2, 4)), "x is (2, 6, 3) in the first and (2, 6) in another", ""),
        (batch((2, 6, 3), (2, 5)), "y is (2, 4) in the first and (2, 5) in another", "maxlen=5"),
    ],
    ids=["x", "axes", "y"],
)
def test_a_batch_that_differs_where_the_model_is_fixed_is_named(second, what, type_next):
    first = batch((2, 6, 3), (2, 4))
    given = checked([first, batch((1, 6, 3), (1, 4)), second], first, ((), ()), "generator")
    assert next(given) is first and len(next(given)[0]) == 1
    with pytest.raises(DataError) as caught:
        next(given)
    assert what in caught.value.what
    assert type_next in caught.value.type_next


def counted(lengths, asked):
    for length in lengths:
        asked.append(length)
        yield batch((2, length, 3), (2, length, 5))


@pytest.mark.parametrize(
    ("model", "options", "read"),
    [
        (tagger(), {}, LOOK_AHEAD_BATCHES),
        (tagger(), {"most": 3}, 3),
        (tagger(), {"ahead": False}, 1),
        (NO_INPUT, {"ahead": False}, LOOK_AHEAD_BATCHES),
        (NO_INPUT, {"ahead": False, "most": 2}, 2),
        (NO_INPUT, {"most": 0}, 1),
        (tagger(6), {}, 1),
        (None, {}, 1),
    ],
)
def test_batches_are_read_ahead_only_where_lengths_may_vary_and_no_further_than_is_taken(model, options, read):
    asked = []
    source = read_data(counted([6] * 40, asked), model=model, **options)
    assert len(asked) == read
    assert len(list(source.passes(False))) == 40, "what was looked at is given out too"


def test_large_batches_are_not_hoarded(monkeypatch):
    monkeypatch.setattr("colab_tpu_magic.rewrite.streams.LOOK_AHEAD_BYTES", 1000)
    asked = []
    read_data(counted([6] * 40, asked), model=tagger())
    assert len(asked) == 3, "384 bytes each"


def lengths(*pairs):
    start = 0
    for rows, length in pairs:
        yield (np.repeat(np.arange(start, start + rows, dtype="float32")[:, None, None], length, 1) * np.ones(3),)
        start += rows


def test_batches_of_one_length_are_joined_and_predictions_cut_back_wherever_a_batch_was_completed():
    source = read_data(lambda: lengths((3, 5), (3, 5), (3, 6), (1, 5)), model=tagger(), ahead=False)
    feed, given = prediction_feed(source, 4, 2, None, 0)
    shapes = [one[0].shape for one in feed]
    # The rows left of the first length come in the shape that is there already; the others are even.
    assert shapes == [(4, 5, 3), (4, 5, 3), (4, 6, 3), (4, 5, 3)]
    assert given == [(4, 4), (2, 4), (3, 4), (1, 4)]
    outputs = np.concatenate([one[0][:, 0, 0] for one in feed])
    assert true_rows(outputs, given).tolist() == list(range(10))


def test_only_a_last_batch_that_was_completed_costs_no_copy():
    output = np.arange(8)
    assert np.shares_memory(true_rows(output, [(4, 4), (1, 4)]), output)
    assert true_rows(output, [(4, 4), (1, 4)]).tolist() == [0, 1, 2, 3, 4]
