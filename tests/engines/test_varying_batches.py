"""Generators, iterables and PyDatasets whose batches differ in length train as plain Keras on padded rows would."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from colab_tpu_magic.errors import DataError

from .models import training

RNG = np.random.default_rng(5)
TOKENS = [RNG.integers(1, 30, length) for length in RNG.integers(1, 51, 70)]
LABELS = RNG.integers(0, 2, 70).astype("float32")
PADDED = keras.utils.pad_sequences(TOKENS, 56, padding="post")


def batch(start, stop, targets=True):
    x = keras.utils.pad_sequences(TOKENS[start:stop], padding="post")
    return (x, LABELS[start:stop]) if targets else x


def batches(targets=True, rows=70):
    for start in range(0, rows, 10):
        yield batch(start, start + 10, targets)


class Pieces(keras.utils.PyDataset):
    def __init__(self, targets=True, rows=70):
        super().__init__()
        self.targets, self.rows = targets, rows

    def __len__(self):
        return self.rows // 10

    def __getitem__(self, index):
        return batch(index * 10, index * 10 + 10, self.targets)


class ThreeBatches:
    def __init__(self, targets=True):
        self.targets = targets

    def __iter__(self):
        return batches(self.targets, 30)


FORMS = {
    "PyDataset": Pieces,
    "generator function": lambda targets=True: lambda: batches(targets),
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
    rows = [change for change in run.changes if change.before == "rows of varying length"]
    assert rows[0].after == "padded with zeros to one length, 56"
    assert "The padding changes no result: the model masks 0 (Embedding mask_zero)." in rows[0].why
    assert run.batch_shapes == run.planned_shapes == 1
    home = model.evaluate(PADDED, LABELS, verbose=0)
    np.testing.assert_allclose(there, home, rtol=1e-5)
    np.testing.assert_allclose([history["val_loss"][-1], history["val_mae"][-1]], home, rtol=1e-5)
    np.testing.assert_allclose(predicted, model.predict(PADDED, verbose=0), atol=1e-6)


def test_without_a_mask_figures_are_those_of_the_batches_as_they_come_also_before_the_model_has_an_input():
    model, plain = reader(mask=False, given=False), reader(mask=False, given=False)
    with training(batch_size=16, learning_rate="keep") as cell:
        there = model.evaluate(ThreeBatches(), verbose=0)
        predicted = model.predict(ThreeBatches(False), verbose=0)
        model.fit(ThreeBatches(), steps_per_epoch=1)
    np.testing.assert_allclose(there, plain.evaluate(Pieces(rows=30), verbose=0), rtol=1e-5)
    np.testing.assert_allclose(predicted, plain.predict(Pieces(False, 30), verbose=0), atol=1e-6)
    rows = [change for change in cell.runs[0].changes if change.before == "rows of varying length"]
    assert rows[0].after.startswith("padded with zeros to ")
    assert "The data pads its batches with 0 itself, and no mask hides that" in rows[0].why


@pytest.mark.parametrize("kind", ["per step", "subclass"])
def test_targets_vary_with_the_rows_and_a_model_without_inputs_learns_lengths_by_reading_ahead(kind, runtime):
    def per_step():
        for x, _ in batches():
            yield x, (x % 2).astype("float32")[..., None]

    def two_lengths():
        yield from (PADDED[:7, :9], PADDED[:8, :40])

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = reader().layers

        def call(self, x):
            for layer in self.inner:
                x = layer(x)
            return x

    def made():
        if kind == "per step":
            return reader(per_step=True)
        keras.utils.set_random_seed(1)
        model = Own()
        model.compile(keras.optimizers.SGD(0.3), "mse", metrics=["mae"])
        return model

    model, plain, data = made(), made(), per_step if kind == "per step" else batches
    with training(batch_size=16, learning_rate="keep") as cell:
        model.fit(data)
        there = model.predict(Pieces(False, 10), verbose=0)
        if kind == "per step":
            joined = model.predict(two_lengths, verbose=0)
            if runtime.backend == "jax":
                with pytest.raises(DataError, match="differs in length from batch to batch"):
                    reader(mask=False, per_step=True).predict(two_lengths, verbose=0)
            else:  # as plain Keras: a ragged tensor
                rows = reader(mask=False, per_step=True).predict(two_lengths, verbose=0)
                assert [len(row) for row in rows] == [9] * 7 + [40] * 8
            np.testing.assert_allclose(joined[:7, :9], there[:7, :9], atol=1e-6)
            np.testing.assert_allclose(joined[7:, :40], there[:8, :40], atol=1e-6)
    index, y = np.resize(np.arange(70), 80), (PADDED % 2)[..., None] if kind == "per step" else LABELS
    plain.fit(PADDED[index], y[index], batch_size=16, shuffle=False, verbose=0)
    if kind != "per step" or runtime.backend == "jax" or runtime.replicas == 1:
        np.testing.assert_allclose(model.get_weights()[0], plain.get_weights()[0], atol=1e-5)
    assert cell.runs[0].batch_shapes == 1
    x = batch(0, 10, False)
    np.testing.assert_allclose(there, model.predict(x, verbose=0)[:, : there.shape[1]], atol=1e-6)


def test_an_input_of_one_length_is_named_where_the_batches_have_several():
    inputs = keras.Input((int(batch(0, 10, False).shape[1]),), dtype="int32")
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Flatten()(keras.layers.Embedding(30, 2)(inputs))))
    model.compile("sgd", "mse")
    for use in ("fit", "evaluate"):
        with (
            training(),
            pytest.raises(DataError, match="x is .* in the first and .* the model's Input fixes") as caught,
        ):
            getattr(model, use)(lambda: batches())
        assert caught.value.type_next == "keras.Input((None,))"


def test_batches_of_one_length_are_read_and_grouped_as_ever():
    asked = []

    def alike():
        for start in range(0, 70, 10):
            asked.append(start)
            yield PADDED[start : start + 10], LABELS[start : start + 10]

    going, model = alike(), reader(mask=False)
    with training(batch_size=16) as cell:
        model.fit(going, steps_per_epoch=1)
        assert max(asked) < 60, "no further than the steps need, so that the next fit goes on"
        model.predict(lambda: (x for x, _ in alike()), verbose=0)
    run = cell.runs[0]
    assert not [change for change in run.changes if change.before == "rows of varying length"]
    assert run.batch_shapes == 1


def test_a_length_that_nothing_foretold_is_named():
    def late():
        for _ in range(34):
            yield PADDED[:16, :9], LABELS[:16]
        yield PADDED[:12, :50], LABELS[:12]
        yield PADDED[:12, :9], LABELS[:12]

    with training(batch_size=16), pytest.raises(DataError, match="lengths vary") as caught:
        reader(given=False).fit(late())
    assert caught.value.type_next == "keras.Input((None,))"
