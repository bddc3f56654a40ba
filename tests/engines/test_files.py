"""TFRecord files and folders of images train, evaluate and predict, and the change table tells how they are read."""

from __future__ import annotations

import re

import keras
import numpy as np
import pytest

import colab_tpu_magic as tpu

from .models import changed, dense, rows, training

tf = pytest.importorskip("tensorflow")
SPEC = {"x": ("float32", (20,)), "y": "int32"}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    root = tmp_path_factory.mktemp("records")
    x, y = rows(100)
    for part in range(2):
        with tf.io.TFRecordWriter(str(root / f"{part}.tfrecord")) as file:
            for at in range(part * 50, part * 50 + 50):
                kinds = {
                    "x": tf.train.Feature(float_list=tf.train.FloatList(value=x[at])),
                    "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[y[at]])),
                }
                file.write(tf.train.Example(features=tf.train.Features(feature=kinds)).SerializeToString())
    return f"{root}/*.tfrecord"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root, rng = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    for name, base in (("dark", 20), ("light", 200)):
        (root / name).mkdir()
        for at in range(21):
            image = np.clip(rng.normal(base, 10, (12, 12, 3)), 0, 255).astype("uint8")
            tf.io.write_file(str(root / name / f"{at}.jpg"), tf.io.encode_jpeg(image))
    return str(root)


def test_tfrecords_in_order_train_as_the_rows_that_were_written(records):
    x, y = rows(100)
    model, plain = dense(), dense()
    with training(batch_size="keep", learning_rate="keep") as cell:
        data = tpu.tfrecords(records, SPEC, label="y", batch_size=16, shuffle=False)
        history = model.fit(data, epochs=2, validation_data=data).history
        predicted = model.predict(data.map(lambda x, y: x), verbose=0)
    run = cell.runs[0]
    assert (run.step, run.steps_per_epoch) == (14, 7)
    index = np.resize(np.arange(100), 14 * 16)
    for epoch in range(2):
        part = index[epoch * 112 : epoch * 112 + 112]
        plain.fit(x[part], y[part], batch_size=16, shuffle=False, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], plain.get_weights()[0], atol=2e-5)
    pipeline = [(change.before, change.after) for change in run.changes if change.rule == "input-pipeline"]
    assert pipeline[0] == ("2 TFRecord files, 100 rows", "read side by side, parsed 256 rows at a time, in order")
    home = model.evaluate(x, y, verbose=0)
    np.testing.assert_allclose([history["val_loss"][-1], history["val_accuracy"][-1]], home, rtol=1e-5)
    np.testing.assert_allclose(predicted, model.predict(x, verbose=0), atol=1e-6)


def test_a_folder_of_images_trains_and_is_evaluated_exactly(folder):
    keras.utils.set_random_seed(1)
    scaled = keras.layers.Rescaling(1 / 127.5, offset=-1)
    model = keras.Sequential([keras.Input((8, 8, 3)), scaled, keras.layers.Flatten(), keras.layers.Dense(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.005), loss, metrics=["accuracy"])
    with training(batch_size="keep", seed=0) as cell:
        data = tpu.images(folder, (8, 8), 16, crop=True, seed=0)
        history = model.fit(data, epochs=3, validation_data=data).history
        there = model.evaluate(data, verbose=0)
    run = cell.runs[0]
    assert (run.step, run.steps_per_epoch, run.batch_shapes) == (9, 3, 1)
    assert history["accuracy"][-1] == 1.0
    before, after = next((c.before, c.after) for c in run.changes if c.rule == "input-pipeline")
    assert before == "42 image files"
    assert after.startswith(
        "decoded in parallel as uint8, the middle cut out while decoding; cached as they are decoded: "
    )
    assert re.search(r"7\.88 KiB decoded, less than 0\.01 % of the [\d.]+ [MG]iB free$", after)
    assert "dtypes" not in changed(run)
    # A plain call in a later cell takes the same dataset.
    np.testing.assert_allclose(model.evaluate(data, verbose=0), there, rtol=1e-5)
