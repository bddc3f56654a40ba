"""Batches of varying length are padded to a few lengths; nothing else about them changes."""

from __future__ import annotations

import numpy as np
import pytest

from colab_tpu_magic.errors import DataError
from colab_tpu_magic.rewrite.buckets import Buckets, Lengths, Padding, lengths_of
from colab_tpu_magic.rewrite.rules.static_shapes import lengths_text, padding_text, padding_why


def batch(rows, length, fill=1):
    return (np.full((rows, length), fill, "int32"), np.zeros(rows, "float32"))


def test_a_length_goes_to_a_power_of_two_from_eight_and_never_past_the_longest_seen():
    buckets = Buckets(((1,),), (0.0,), [120])
    assert [buckets.length(0, length) for length in (1, 8, 9, 33, 64, 65, 120)] == [8, 8, 16, 64, 64, 120, 120]


def test_a_longer_row_than_seen_adds_one_length():
    buckets = Buckets(((1,),), (0.0,), [120])
    assert [buckets.length(0, length) for length in (121, 128, 129)] == [128, 128, 256]


def test_rows_keep_their_values_and_the_rest_is_the_padding():
    lengths = lengths_of([batch(2, 3), batch(2, 12)], ((1,), ()), Padding(-1.0))
    padded = list(Buckets.of(lengths).pad([batch(2, 3, 7)]))[0]
    assert padded[0].tolist() == [[7, 7, 7, -1, -1, -1, -1, -1]] * 2
    assert padded[0].dtype == np.int32
    assert padded[1].shape == (2,)


def test_a_batch_that_fits_is_not_copied():
    given = batch(2, 8)
    padded = list(Buckets(((1,), ()), (0.0, 0.0), [16]).pad([given]))[0]
    assert padded[0] is given[0]


def test_batches_are_joined_at_the_longest_of_them():
    joined = Buckets(((1,), ()), (0.0, 0.0), [16]).join([batch(1, 2), batch(2, 4)])
    assert joined[0].tolist() == [[1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]]
    assert joined[1].shape == (3,)


def test_lengths_that_never_differ_are_left_alone():
    lengths = lengths_of([batch(4, 100), batch(3, 100)], ((1,), ()))
    assert not lengths.vary
    assert Buckets.of(lengths).length(0, 100) == 100


def test_fixed_axes_give_no_lengths():
    assert lengths_of([batch(4, 100)], ((), ())) is None


def test_every_axis_of_an_array_of_unknown_rank_may_vary():
    assert lengths_of([batch(4, 5), batch(4, 6)], (None, None)).axes == ((1,), ())


def test_arrays_that_change_their_number_of_axes_are_refused():
    with pytest.raises(DataError, match="another number of axes"):
        lengths_of([batch(4, 5), (np.zeros(4), np.zeros(4))], (None, None))


def test_targets_are_padded_with_nought_whatever_the_inputs_are_padded_with():
    lengths = Lengths(((1,), (1,)), ((2, (3, 3)), (2, (9, 9))), Padding(-1.0), inputs=1)
    assert lengths.values == (-1.0, 0.0)


def test_the_lengths_are_those_of_the_batches_that_train():
    seen = tuple((2, (length,)) for length in (3, 30, 5, 6, 60, 64))
    lengths = Lengths(((1,),), seen)
    assert lengths.shapes_at(2) == [(8,), (32,), (64,)]
    assert lengths.shapes_at(4) == [(8,), (32,), (64,)]
    assert lengths.shapes_at(12) == [(64,)]


def test_data_that_pads_its_own_batches_is_seen():
    own = np.array([[1, 2, 0], [1, 2, 3]])
    longer = np.array([[1, 2, 0, 0], [1, 2, 3, 4]])
    assert lengths_of([(own,), (longer,)], ((1,),)).self_padded
    assert not lengths_of([(own + 1,), (longer + 1,)], ((1,),)).self_padded


def test_the_lengths_are_told_in_words():
    assert lengths_text([(16,), (32,), (64,)]) == "3 lengths: 16, 32, 64"
    assert lengths_text([(16,)]) == "one length, 16"
    assert lengths_text([(8, 16), (8, 32)]) == "2 shapes: 8 × 16, 8 × 32"
    assert lengths_text([(n,) for n in range(1, 10)]) == "9 lengths: 1, 2, 3, 4, 5, 6, …"


def test_padding_is_told_so_that_it_does_not_read_as_a_range():
    assert [padding_text(value) for value in (0, 0.0, -1, 2.5)] == ["zeros", "zeros", "the value -1", "the value 2.5"]


def test_it_is_said_whether_padding_can_change_results():
    seen = ((2, (3,)), (2, (9,)))
    proven = Lengths(((1,),), seen, Padding(0.0, "the model masks 0 (Embedding mask_zero)"))
    assert "changes no result: the model masks 0" in padding_why(proven, 2)
    assert "pads its batches with 0 itself" in padding_why(Lengths(((1,),), seen, self_padded=True), 2)
    assert "can change results" in padding_why(Lengths(((1,),), seen), 2)


def test_padding_is_proven_only_where_every_layer_passes_the_mask_on():
    from keras import layers, models

    from colab_tpu_magic.rewrite.padding import padding_for

    embedding = layers.Embedding(5, 2, mask_zero=True)
    masked = models.Sequential([embedding, layers.LSTM(3), layers.Dense(1)])
    assert padding_for(masked) == Padding(0.0, "the model masks 0 (Embedding mask_zero)")
    values = models.Sequential([layers.Input((None, 2)), layers.Masking(-1.0), layers.LSTM(3)])
    assert padding_for(values) == Padding(-1.0, "the model masks -1 (Masking)")
    lost = models.Sequential([embedding, layers.Conv1D(2, 3), layers.GlobalAveragePooling1D()])
    assert padding_for(lost) == Padding(0.0)
    nested = models.Sequential([embedding, models.Sequential([layers.Bidirectional(layers.GRU(2)), layers.Dense(1)])])
    assert padding_for(nested).proof

    class Own(models.Model):
        def __init__(self):
            super().__init__()
            self.embedding = embedding

        def call(self, inputs):
            return self.embedding(inputs)[:, -1]

    assert padding_for(Own()) == Padding(0.0)
    assert padding_for(models.Sequential([layers.Embedding(5, 2)])) == padding_for(None) == Padding()


def test_evaluation_is_padded_only_where_that_is_proven():
    from dataclasses import replace

    from colab_tpu_magic.rewrite.padding import in_buckets
    from colab_tpu_magic.rewrite.sources import StreamSource

    lengths = lengths_of([batch(2, 3), batch(2, 12)], ((1,), ()))
    source = StreamSource("any", lambda: iter([batch(2, 3)]), batch(2, 3), 2, lengths=lengths)
    assert in_buckets(source, only_proven=True) is source
    assert in_buckets(source).buckets.longest == [16]
    proven = replace(source, lengths=replace(lengths, padding=Padding(0.0, "masked")))
    assert [one[0].shape for one in in_buckets(proven, only_proven=True).of_size(2, False, "keep")] == [(2, 8)]
