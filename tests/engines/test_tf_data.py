"""Datasets of single rows, of varying length and of unknown shape train as plain Keras on the same rows would."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from colab_tpu_magic.errors import DataError
from colab_tpu_magic.training.findings import findings

from .models import changed, dense, rows, training

tf = pytest.importorskip("tensorflow")
RNG = np.random.default_rng(3)
LENGTHS = [int(n) for n in RNG.integers(3, 60, 90)]
SEQUENCES = [RNG.integers(1, 50, n).astype("int32") for n in LENGTHS]
LABELS = np.array([s.mean() > 25 for s in SEQUENCES], "int32")
PADDED = keras.utils.pad_sequences(SEQUENCES, 64, padding="post")


def reader(mask=True, optimizer=None):
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(50, 8, mask_zero=mask),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile(optimizer or keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def ragged():
    return tf.data.Dataset.from_tensor_slices((tf.ragged.constant(SEQUENCES), LABELS))


def uneven_rows():
    return tf.data.Dataset.from_generator(
        lambda: zip(SEQUENCES, LABELS, strict=True),
        output_signature=(tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)),
    )


FORMS = {"ragged batches": lambda: ragged().batch(16), "uneven rows": uneven_rows}


@pytest.mark.parametrize("form", FORMS)
def test_varying_lengths_train_as_rows_padded_to_one_length_where_the_model_masks(form):
    model, plain = reader(), reader()
    make = FORMS[form]
    size = 16 if form == "uneven rows" else None
    with training(batch_size="keep", learning_rate="keep") as cell:
        history = model.fit(make(), batch_size=size, epochs=2, validation_data=make()).history
        predicted = model.predict(make().map(lambda x, y: x), verbose=0)
    run = cell.runs[0]
    # Six steps of 16: the last is completed from the next pass, or where no one knows the steps, from the same.
    epochs = np.resize(np.arange(90), (2, 96)) if form == "ragged batches" else [np.resize(np.arange(90), 96)] * 2
    for index in epochs:
        plain.fit(PADDED[index], LABELS[index], batch_size=16, shuffle=False, verbose=0)
    assert run.step == 12
    np.testing.assert_allclose(model.get_weights()[0], plain.get_weights()[0], atol=1e-5)
    assert changed(run)["static-shapes"][0] == "rows of varying length"
    assert changed(run)["static-shapes"][1].startswith("padded with zeros to ")
    why = next(change.why for change in run.changes if change.rule == "static-shapes")
    assert "the model masks 0 (Embedding mask_zero)" in why
    home = model.evaluate(PADDED, LABELS, verbose=0)
    np.testing.assert_allclose([history["val_loss"][-1], history["val_accuracy"][-1]], home, rtol=1e-5)
    np.testing.assert_allclose(predicted, model.predict(PADDED, verbose=0), atol=1e-6)


def by_length():
    order = np.argsort(LENGTHS)
    return tf.data.Dataset.from_generator(
        lambda: ((SEQUENCES[at], LABELS[at]) for at in order),
        output_signature=(tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)),
    ).padded_batch(16)


def test_the_step_is_compiled_for_the_lengths_that_were_told(runtime):
    with training(batch_size="keep") as cell:
        reader().fit(by_length(), epochs=2)
    run = cell.runs[0]
    assert changed(run)["static-shapes"][1] == "padded with zeros to 3 lengths: 16, 32, 64"
    assert run.batch_shapes == run.planned_shapes == 3
    if runtime.backend == "jax":
        assert run.compilations == 3
    assert not [sentence for sentence in findings(run) if "compiled" in sentence]


def test_without_a_mask_evaluation_keeps_every_batch_at_its_own_length():
    model, plain = reader(mask=False), reader(mask=False)
    with training(batch_size="keep") as cell:
        there = model.evaluate(by_length().take(3), verbose=0)
        predicted = model.predict(by_length().take(3), verbose=0)
        model.fit(by_length().take(3))
    np.testing.assert_allclose(there, plain.evaluate(by_length().take(3), verbose=0), rtol=1e-5)
    np.testing.assert_allclose(predicted, plain.predict(by_length().take(3), verbose=0), atol=1e-6)
    why = next(change.why for change in cell.runs[0].changes if change.rule == "static-shapes")
    assert "pads its batches with 0 itself, and no mask hides that" in why


def test_no_static_shapes_leaves_lengths_as_they_come():
    with training(batch_size="keep", no=("static-shapes",)) as cell:
        reader().fit(by_length().take(3))
    assert cell.runs[0].batch_shapes == 3
    assert "static-shapes" not in changed(cell.runs[0])


def test_single_rows_train_as_batches_and_each_row_is_seen():
    x, y = rows()
    model, plain = dense(), dense()
    with training(learning_rate="keep", batch_size="keep") as cell:
        history = model.fit(
            tf.data.Dataset.from_tensor_slices((x, y)), batch_size=48, epochs=1, validation_data=(x, y)
        ).history
        there = model.evaluate(tf.data.Dataset.from_tensor_slices((x, y)), verbose=0)
        predicted = model.predict(tf.data.Dataset.from_tensor_slices(x), verbose=0)
    index = np.resize(np.arange(1003), 21 * 48)
    plain.fit(x[index], y[index], batch_size=48, shuffle=False, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], plain.get_weights()[0], atol=2e-5)
    assert changed(cell.runs[0])["input-pipeline"] and cell.runs[0].step == 21
    assert ("single rows", "rows batched in bulk") in [(c.before, c.after) for c in cell.runs[0].changes]
    np.testing.assert_allclose(there, model.evaluate(x, y, verbose=0), rtol=1e-5)
    assert history["val_loss"][0] == pytest.approx(there[0], rel=1e-5)
    np.testing.assert_allclose(predicted, model.predict(x, verbose=0), atol=1e-6)


def test_a_dataset_of_unknown_shape_trains():
    x, y = rows(100)
    dataset = tf.data.Dataset.from_generator(lambda: zip(x, y, strict=True), output_types=(tf.float32, tf.int32))
    model = dense()
    with training(batch_size="keep") as cell:
        model.fit(dataset, batch_size=16, epochs=2)
    assert cell.runs[0].step == 14
    assert cell.runs[0].batch_shapes == 1


@pytest.mark.only("tensorflow")
def test_a_distributed_dataset_is_refused_with_the_line_to_type(runtime):
    if runtime.replicas == 1:
        pytest.skip("one device has no strategy")
    dataset = tf.data.Dataset.from_tensor_slices(rows(16)).batch(8)
    with training(), pytest.raises(DataError, match="is a distributed dataset") as caught:
        dense().fit(runtime.engine.strategy.experimental_distribute_dataset(dataset))
    assert caught.value.type_next == "model.fit(dataset)"
