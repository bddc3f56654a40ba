"""Generators, iterables and PyDatasets whose batches differ in length train as plain Keras on padded rows would."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from colab_tpu_magic.errors import DataError

from .models import changed, training

RNG = np.random.default_rng(5)
TOKENS = [RNG.integers(1, 30, length) for length in RNG.integers(1, 51, 70)]
LABELS = RNG.integers(0, 2, 70).astype("float32")
PADDED = keras.utils.pad_sequences(TOKENS, 56, padding="post")


def batch(start, stop, targets=True):
    x = keras.utils.pad_sequences(TOKENS[start:stop], padding="post")
    return (x, LABELS[start:stop]) if targets else x


def batches(targets=True):
    for start in range(0, 70, 10):
        yield batch(start, start + 10, targets)


class Pieces(keras.utils.PyDataset):
    def __init__(self, targets=True):
        super().__init__()
        self.targets = targets

    def __len__(self):
        return 7

    def __getitem__(self, index):
        return batch(index * 10, index * 10 + 10, self.targets)


class Iterable:
    def __init__(self, targets=True):
        self.targets = targets

    def __iter__(self):
        return batches(self.targets)


FORMS = {
    "PyDataset": Pieces,
    "generator function": lambda targets=True: lambda: batches(targets),
    "iterable": Iterable,
}


def reader(mask=True, given=True, per_step=False):
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Embedding(30, 4, mask_zero=mask)]
    layers += [] if per_step else [keras.layers.GlobalAveragePooling1D()]
    model = keras.Sequential(
        [*([keras.Input((None,), dtype="int32")] if given else []), *layers, keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.SGD(0.3), "mse", metrics=["mae"])
    return model


def trained(data, model=None, epochs=1, **fit):
    model = model or reader()
    with training(batch_size=16, learning_rate="keep") as cell:
        history = model.fit(data, epochs=epochs, shuffle=False, **fit).history
    return model, history, cell.runs[0]


@pytest.mark.parametrize("form", FORMS)
def test_batches_of_many_lengths_train_validate_and_predict_as_padded_rows(form):
    make = FORMS[form]
    model, plain = reader(), reader()
    with training(batch_size=16, learning_rate="keep") as cell:
        history = model.fit(make(), epochs=2, shuffle=False, validation_data=make()).history
        there = model.evaluate(make(), verbose=0)
        predicted = model.predict(make(False), verbose=0)
    # Five steps of 16: the last is completed from the next pass, or where no one knows the steps, from the same.
    known = form == "PyDataset"
    for index in np.resize(np.arange(70), (2, 80)) if known else [np.resize(np.arange(70), 80)] * 2:
        plain.fit(PADDED[index], LABELS[index], batch_size=16, shuffle=False, verbose=0)
    run = cell.runs[0]
    assert run.step == 10
    np.testing.assert_allclose(model.get_weights()[0], plain.get_weights()[0], atol=1e-5)
    before, after = changed(run)["static-shapes"] if known else changed(run)["static-shapes"]
    rows = [change for change in run.changes if change.before == "rows of varying length"]
    assert rows[0].after == "padded with zeros to one length, 56"
    assert "The padding changes no result: the model masks 0 (Embedding mask_zero)." in rows[0].why
    assert run.batch_shapes == run.planned_shapes == 1
    home = model.evaluate(PADDED, LABELS, verbose=0)
    np.testing.assert_allclose(there, home, rtol=1e-5)
    np.testing.assert_allclose([history["val_loss"][-1], history["val_mae"][-1]], home, rtol=1e-5)
    np.testing.assert_allclose(predicted, model.predict(PADDED, verbose=0), atol=1e-6)
