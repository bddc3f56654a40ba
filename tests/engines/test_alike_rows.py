"""Rows of alike length in one batch train as the same rows in the same order, each padded to the longest of all."""

from __future__ import annotations

from itertools import islice

import keras
import numpy as np
import pytest
import tensorflow as tf

import colab_tpu_magic as tpu
from colab_tpu_magic.rewrite import alike
from colab_tpu_magic.rewrite.streams import read_data

from .models import training

ROWS, SIZE, EPOCHS, LONGEST = 100, 8, 4, 60
RNG = np.random.default_rng(0)
LENGTHS = [LONGEST, *np.minimum(RNG.geometric(0.15, ROWS - 1), LONGEST)]
TOKENS = [RNG.integers(1, 20, length) for length in LENGTHS]
LABELS = np.array([7 in row for row in TOKENS]).astype("float32")
OPTIONS = {"batch_size": "keep", "learning_rate": "keep", "seed": 4}
FIT = {"batch_size": SIZE, "epochs": EPOCHS}


@pytest.fixture(autouse=True)
def few_steps_are_enough(monkeypatch):
    monkeypatch.setattr(alike, "STEPS_PER_SHAPE", 20)


def model(mask: bool = True, first: tuple = ()) -> keras.Model:
    keras.utils.set_random_seed(1)
    made = keras.Sequential(
        [
            *(first or [keras.Input((None,), dtype="int32")]),
            keras.layers.Embedding(30, 4, mask_zero=mask),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1),
        ]
    )
    made.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    return made


def in_one_length(numbers: np.ndarray, epochs: int = EPOCHS) -> tuple[keras.Model, list[float]]:
    """Return a twin trained by plain Keras on the batches that the seed gives, and the loss of each epoch."""
    twin = model()
    steps = -(-ROWS // SIZE)
    order = alike.alike_rows(read_data(tf.ragged.constant(TOKENS), LABELS), twin, SIZE, epochs)
    batches = (
        (numbers[index], LABELS[index]) for index in islice(order.indices(SIZE, OPTIONS["seed"]), epochs * steps)
    )
    history = twin.fit(batches, steps_per_epoch=steps, epochs=epochs, shuffle=False, verbose=0).history
    return twin, history["loss"]


@pytest.mark.parametrize("form", ["ragged", "text"])
def test_rows_alike_in_length_train_as_rows_of_one_length_in_the_same_order(form):
    padded = keras.utils.pad_sequences(TOKENS, LONGEST, padding="post")
    first, x, numbers = (), tf.ragged.constant(TOKENS), padded
    if form == "text":
        words = keras.layers.TextVectorization(vocabulary=[f"w{n}" for n in range(1, 20)], name="words")
        x = np.array([" ".join(f"w{n}" for n in row) for row in TOKENS])
        first, numbers = (keras.Input((), dtype="string"), words), padded + (padded > 0)
    with training(**OPTIONS) as cell:
        ours = model(first=first)
        losses = ours.fit(x, LABELS, **FIT).history["loss"]
    twin, expected = in_one_length(numbers)
    np.testing.assert_allclose(losses, expected, atol=1e-5)
    for weight, other in zip(ours.get_weights(), twin.get_weights(), strict=True):
        np.testing.assert_allclose(weight, other, atol=1e-4)
    (change,) = [one for one in cell.runs[0].changes if one.after.startswith("batches of rows alike")]
    assert (
        change.before == f"rows padded to the longest, 60: {1 - np.mean(LENGTHS) / LONGEST:.0%} of the values padding"
    )
    assert "padded to 2 lengths: 8, 60" in change.after or "padded to 2 lengths: 16, 60" in change.after
    assert "compiled 2 times" in change.why and "masks 0" in change.why


@pytest.mark.parametrize("case", ["free", "no mask", "no shuffle", "few steps", "switched off"])
def test_rows_stay_at_the_longest_where_order_or_length_is_not_free(case):
    options = tpu.FitOptions(batch_size="keep", no=("static-shapes",) if case == "switched off" else ())
    fit = {"batch_size": SIZE, "epochs": 1 if case == "few steps" else EPOCHS, "shuffle": case != "no shuffle"}
    report = tpu.check(model(case != "no mask"), tf.ragged.constant(TOKENS), LABELS, options=options, **fit)
    grouped = [one for one in report.changes if one.after.startswith("batches of rows alike")]
    assert len(grouped) == (case == "free")
