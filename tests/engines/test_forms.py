"""The forms that data comes in, and what Keras documents of `fit`, hold on the replicas."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from colab_tpu_magic.errors import DataError

from .models import changed, dense, rows, training


class Pieces(keras.utils.PyDataset):
    """1,003 rows in eleven batches of 97, the last of 33."""

    def __init__(self, workers=1):
        super().__init__(workers=workers)
        self.x, self.y = rows()

    def __len__(self):
        return 11

    def __getitem__(self, index):
        part = slice(index * 97, (index + 1) * 97)
        return self.x[part], self.y[part]


def dataset(size=50):
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices(rows()).batch(size)


@pytest.mark.parametrize("make", [dataset, Pieces, lambda: Pieces(workers=3)], ids=["tf.data", "PyDataset", "workers"])
def test_dataset_trains_evaluates_and_predicts_exactly(make):
    x, y = rows()
    model = dense()
    with training() as cell:
        history = model.fit(make(), epochs=2, validation_data=make()).history
        there = model.evaluate(make(), verbose=0)
        predicted = model.predict(make(), verbose=0)
    assert history["loss"][-1] < history["loss"][0]
    assert cell.runs[0].status == "completed"
    np.testing.assert_allclose(there, model.evaluate(x, y, verbose=0), rtol=2e-5)
    np.testing.assert_allclose(there, [history["val_loss"][-1], history["val_accuracy"][-1]], rtol=2e-5)
    np.testing.assert_allclose(predicted, model.predict(x, verbose=0), atol=1e-6)


def test_endless_dataset_trains_the_steps_that_were_asked_for(runtime):
    model = dense()
    with training(batch_size="keep") as cell:
        model.fit(dataset(48).repeat(), epochs=2, steps_per_epoch=7)
    assert cell.runs[0].steps_per_epoch == 7
    assert cell.runs[0].step == 14


def test_generator_loses_no_batch():
    x, y = rows(480)
    given = []

    def batches():
        for start in range(0, 480, 48):
            given.append(start)
            yield x[start : start + 48], y[start : start + 48]

    model, plain = dense(), dense()
    with training(batch_size="keep", learning_rate="keep") as cell:
        found = model.fit(batches(), epochs=1).history
    expected = plain.fit(x, y, batch_size=48, shuffle=False, verbose=0).history
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, abs=1e-5), name
    assert given == list(range(0, 480, 48))
    assert cell.runs[0].step == 10
    np.testing.assert_allclose(model.get_weights()[0], plain.get_weights()[0], atol=2e-5)


def test_dict_inputs_and_class_weights():
    x, y = rows()
    inputs = {"left": keras.Input((10,), name="left"), "right": keras.Input((10,), name="right")}
    joined = keras.layers.Concatenate()([inputs["left"], inputs["right"]])
    model = keras.Model(inputs, keras.layers.Dense(2, activation="softmax")(joined))
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    data = {"left": x[:, :10], "right": x[:, 10:]}
    with training():
        history = model.fit(data, y, epochs=2, class_weight={0: 1.0, 1: 3.0}, validation_data=(data, y)).history
        assert model.predict(data, verbose=0).shape == (1003, 2)
    assert history["val_accuracy"][-1] > history["val_accuracy"][0] - 0.05


def test_validation_split_takes_the_last_rows():
    x, y = rows(1000)
    model = dense(optimizer=keras.optimizers.SGD(0.0))
    with training():
        history = model.fit(x, y, validation_split=0.2).history
    assert history["val_loss"][0] == pytest.approx(model.evaluate(x[800:], y[800:], verbose=0)[0], rel=1e-5)


def test_initial_epoch_and_history_are_as_keras_documents():
    x, y = rows()
    model = dense()
    with training():
        history = model.fit(x, y, initial_epoch=2, epochs=5)
    assert isinstance(history, keras.callbacks.History)
    assert history.epoch == [2, 3, 4]
    assert model.history is history


def test_callbacks_are_called_as_often_as_keras_would():
    x, y = rows(640)
    calls = []

    class Counts(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            calls.append(batch)

    with training(batch_size="keep"):
        dense().fit(x, y, batch_size=64, epochs=2, callbacks=[Counts()])
    assert calls == list(range(10)) * 2


def test_verbose_that_is_given_means_what_it_says(capsys):
    x, y = rows(64)
    with training(quiet=False):
        dense().fit(x, y, verbose=2, epochs=1)
    assert " - loss: " in capsys.readouterr().out


def test_evaluate_and_predict_in_a_callback_work_in_the_middle_of_a_fit():
    x, y = rows()
    seen = []

    class Looks(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(
                (self.model.predict(x[:11], verbose=0).shape, len(self.model.evaluate(x[:11], y[:11], verbose=0)))
            )

    with training():
        history = dense().fit(x, y, epochs=2, callbacks=[Looks()]).history
    assert seen == [((11, 2), 2)] * 2
    assert history["loss"][1] < history["loss"][0]


def test_a_last_batch_that_is_completed_is_told_where_it_has_or_may_have_fewer_rows():
    import tensorflow as tf

    x, y = rows(20)
    rows_known = tf.data.Dataset.from_tensor_slices((x, y))
    forms = {
        "a last batch that may have fewer rows": lambda: iter([(x[:16], y[:16]), (x[16:], y[16:])]),
        "last batch of 4 rows": rows_known,
        None: rows_known.batch(16, drop_remainder=True),
    }
    for before, data in forms.items():
        with training(batch_size="keep") as cell:
            dense().fit(data, batch_size=16 if data is rows_known else None)
        assert changed(cell.runs[0]).get("static-shapes", (None,))[0] == before


def test_no_static_shapes_keeps_the_last_batch_small():
    x, y = rows(100)
    model = dense()
    with training(no=("static-shapes",), batch_size="keep") as cell:
        model.fit(x, y, batch_size=48, epochs=2)
    assert cell.runs[0].step == 6
    assert "static-shapes" not in changed(cell.runs[0])


def test_float64_and_int64_travel_as_32_bits():
    x, y = rows()
    with training() as cell:
        dense().fit(x.astype("float64"), y.astype("int64"))
    assert changed(cell.runs[0])["dtypes"] == ("float64, int64", "float32, int32")


def test_uint8_images_travel_as_uint8():
    images = np.random.default_rng(0).integers(0, 255, (64, 8, 8, 1), dtype="uint8")
    model = keras.Sequential(
        [keras.Input((8, 8, 1)), keras.layers.Rescaling(1 / 255), keras.layers.Flatten(), keras.layers.Dense(2)]
    )
    model.compile("sgd", "mse")
    with training() as cell:
        model.fit(images, np.zeros((64, 2), "float32"))
    assert "dtypes" not in changed(cell.runs[0])


def test_metric_with_a_value_per_class_stays_out_of_the_chart_and_in_the_history():
    x, y = rows(256)
    one_hot = np.eye(2, dtype="float32")[y]
    model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(2, activation="softmax")])
    model.compile("adam", "categorical_crossentropy", metrics=[keras.metrics.F1Score(average=None)])
    with training() as cell:
        model.fit(x, one_hot, epochs=2, validation_data=(x, one_hot))
    run = cell.runs[0]
    assert run.status == "completed"
    assert [len(value) for value in run.history["val_f1_score"]] == [2, 2]
    assert list(run.train) == ["loss"] and list(run.validation) == ["loss"]


def test_a_generator_cell_says_how_it_is_read(runtime):
    def batches():
        for piece in range(10):
            yield tuple(part[piece * 48 : piece * 48 + 48] for part in rows(480))

    model = dense()
    with training(batch_size=64) as cell:
        model.fit(batches, epochs=2, validation_data=batches, class_weight={0: 2.0})
        assert model.predict(batches, verbose=0).shape == (480, 2)
    assert changed(cell.runs[0])["input-pipeline"] == (
        "generator function as it is",
        "read in a thread, batches of 64 cut from it, 3 ahead",
    )
    assert changed(cell.runs[0])["static-shapes"] == ("batches of 48", "batches of 64, every one full")
    assert len(cell.runs[0].history["val_loss"]) == 2


def test_sparse_rows_say_how_they_become_dense_and_can_be_refused():
    import scipy.sparse

    x, y = rows(64)
    with training() as cell:
        dense().fit(scipy.sparse.csr_matrix(x), y)
        assert changed(cell.runs[0])["dense-arrays"] == (
            "x: sparse rows (csr_matrix)",
            "each batch made dense as it is gathered",
        )
    with training(no=("dense-arrays",)), pytest.raises(DataError) as caught:
        dense().fit(scipy.sparse.csr_matrix(x), y)
    assert caught.value.type_next == "x = x.toarray()"


def test_steps_without_a_batch_size_divide_the_rows_as_in_keras():
    x, y = rows(480)
    with training(batch_size="keep") as cell:
        dense().fit(x, y, steps_per_epoch=10)
    assert (cell.runs[0].global_batch_size, cell.runs[0].step) == (48, 10)


def test_generators_go_on_from_fit_to_fit_and_from_validation_to_validation():
    x, y = rows(64)
    trained_on, validated_on = [], []

    def endless(seen):
        for number in range(1000):
            seen.append(number)
            yield x, y

    train, validate = endless(trained_on), endless(validated_on)
    model = dense()
    with training(batch_size="keep", steps_per_execution="keep"):
        for _ in range(2):
            model.fit(train, steps_per_epoch=3, epochs=2, validation_data=validate, validation_steps=2)
    assert trained_on == list(range(12))
    assert validated_on == list(range(8))


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"validation_split": 0.1}, "validation_split needs arrays, and x is a PyDataset."),
        ({"epochs": 2, "validation_data": (one for one in [rows(64)])}, "The generator of validation_data can be read"),
        ({"x": (one for one in [rows(64)]), "epochs": 2}, "The generator can be read only once"),
        ({"class_weight": {0: 1.0}, "x": rows(64)[0], "y": {"a": rows(64)[1]}}, "class_weight needs a single array"),
    ],
)
def test_what_no_epoch_could_be_made_of_is_refused_before_the_training(arguments, what):
    arguments = {"x": Pieces()} | arguments
    with training() as cell, pytest.raises(DataError) as caught:
        dense().fit(**arguments)
    assert caught.value.what.startswith(what) and not cell.runs


class SameArrays(keras.utils.PyDataset):
    """Batches that all lie in the same arrays, filled anew each time."""

    def __init__(self, x, y):
        super().__init__()
        self.data, self.batch = (x, y), (np.empty_like(x[:16]), np.empty_like(y[:16]))

    def __len__(self):
        return len(self.data[0]) // 16

    def __getitem__(self, index):
        for part, whole in zip(self.batch, self.data, strict=True):
            part[...] = whole[index * 16 : index * 16 + 16]
        return self.batch


@pytest.mark.parametrize("form", ["generator function", "PyDataset"])
def test_batches_in_arrays_that_are_filled_again_are_trained_as_they_were_given(form):
    x, y = rows(320)
    data = SameArrays(x, y)

    def batches():
        yield from (data[index] for index in range(len(data)))

    plain, ours = dense(), dense()
    ours.set_weights(plain.get_weights())
    expected = plain.fit(x, y, batch_size=16, shuffle=False, epochs=2, verbose=0).history["loss"]
    with training(batch_size="keep"):
        history = ours.fit(batches if form == "generator function" else data, epochs=2, shuffle=False)
    np.testing.assert_allclose(history.history["loss"], expected, rtol=1e-5)


def test_numbers_in_another_order_of_bytes_are_those_numbers():
    x, y = rows()
    x, y = (np.round(x * 8) / 8).astype(">f4"), y.astype(">i2")

    def batches():
        while True:
            for at in range(0, 96, 32):
                yield x[at : at + 32], y[at : at + 32]

    def trained(x, y, batches):
        model = dense()
        with training(batch_size="keep") as cell:
            losses = model.fit(x, y, batch_size=32, shuffle=False, steps_per_epoch=3, verbose=0).history["loss"]
            losses += model.fit(batches, steps_per_epoch=3, verbose=0).history["loss"]
            losses += model.evaluate(x, y, verbose=0)
            losses += model.predict(x[:5], verbose=0).ravel().tolist()
        return losses, cell

    def native():
        for one in batches():
            yield tuple(part.astype(part.dtype.newbyteorder("=")) for part in one)

    there, cell = trained(x, y, batches())
    plain, _ = trained(x.astype("float32"), y.astype("int16"), native())
    np.testing.assert_allclose(there, plain, rtol=1e-6)
    assert "x: bytes in another order (>f4)" in changed(cell.runs[0])["dense-arrays"][0]
