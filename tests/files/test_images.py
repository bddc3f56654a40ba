"""A folder of images gives what image_dataset_from_directory gives, as uint8, and once decoded from memory."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import colab_tpu_magic as tpu
from colab_tpu_magic.errors import DataError
from colab_tpu_magic.files.decode import Decoder
from colab_tpu_magic.files.notes import notes_of
from colab_tpu_magic.rewrite.streams import read_data

tf = pytest.importorskip("tensorflow")
COUNTS = {"ants": 7, "bees": 4}


def smooth(rng, height, width):
    small = rng.integers(0, 255, (4, 4, 3)).astype("float32")
    return tf.cast(tf.clip_by_value(tf.image.resize(small, (height, width), "bicubic"), 0, 255), tf.uint8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root, rng = tmp_path_factory.mktemp("insects"), np.random.default_rng(0)
    for name, count in COUNTS.items():
        (root / name).mkdir()
        for at in range(count):
            image = smooth(rng, 40 + at, 48)
            path, encode = (f"{at}.png", tf.io.encode_png) if at == 1 else (f"{at}.jpg", tf.io.encode_jpeg)
            tf.io.write_file(str(root / name / path), encode(image))
    return str(root)


def keras_images(folder, **arguments):
    return keras.utils.image_dataset_from_directory(folder, verbose=False, **arguments)


def all_of(dataset):
    parts = list(dataset.as_numpy_iterator())
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])


@pytest.mark.parametrize("labels", ["int", "categorical", "binary"])
def test_whole_images_are_those_of_keras_rounded(folder, labels):
    ours = tpu.images(folder, (32, 24), 4, labels=labels, shuffle=False)
    theirs = keras_images(folder, image_size=(32, 24), batch_size=4, label_mode=labels, shuffle=False)
    (x, y), (kx, ky) = all_of(ours), all_of(theirs)
    assert x.dtype == np.uint8 and x.shape == (11, 32, 24, 3)
    assert np.abs(x - kx).max() <= 0.501
    np.testing.assert_array_equal(y, ky)
    assert y.dtype == ky.dtype
    assert ours.class_names == theirs.class_names == ["ants", "bees"]
    assert ours.file_paths == theirs.file_paths
    assert int(ours.cardinality()) == 3


@pytest.mark.parametrize("subset", ["training", "validation"])
def test_a_split_holds_the_files_that_keras_puts_there(folder, subset):
    arguments = {"validation_split": 0.3, "subset": subset, "seed": 5}
    ours, theirs = tpu.images(folder, (8, 8), **arguments), keras_images(folder, image_size=(8, 8), **arguments)
    assert sorted(ours.file_paths) == sorted(theirs.file_paths)
    assert len(ours.file_paths) == {"training": 8, "validation": 3}[subset]


def test_the_middle_is_cut_out_while_decoding(folder):
    x, _ = all_of(tpu.images(folder, (32, 24), 4, crop=True, shuffle=False))
    for cut, path in zip(x, tpu.images(folder, shuffle=False).file_paths, strict=True):
        whole = tf.io.decode_image(tf.io.read_file(path)).numpy().astype(int)
        top, left = (whole.shape[0] - 32) // 2, (whole.shape[1] - 24) // 2
        # JPEG colours are stored at half the resolution: at the edge of the cut they are guessed differently.
        assert np.abs(whole[top : top + 32, left : left + 24] - cut)[2:-2, 2:-2].max() <= 2


def test_a_folder_of_jpegs_alone_is_cut_the_same_also_where_one_is_none_or_too_small(folder, tmp_path):
    (tmp_path / "a").mkdir()
    paths = [path for path in tpu.images(folder, shuffle=False).file_paths if path.endswith("jpg")]
    for at, path in enumerate(paths):
        tf.io.gfile.copy(path, str(tmp_path / "a" / f"{at}.jpg"))
    sure, _ = all_of(tpu.images(tmp_path, (32, 24), 2, crop=True, shuffle=False))
    careful, _ = all_of(tpu.images(folder, (32, 24), 2, crop=True, shuffle=False))
    jpegs = [at for at, path in enumerate(tpu.images(folder, shuffle=False).file_paths) if path.endswith("jpg")]
    np.testing.assert_array_equal(sure, careful[jpegs])
    tf.io.write_file(str(tmp_path / "a" / "3.jpg"), tf.io.encode_png(np.full((40, 40, 3), 9, "uint8")))
    tf.io.write_file(str(tmp_path / "a" / "5.jpg"), tf.io.encode_jpeg(np.full((8, 8, 3), 9, "uint8")))
    mixed, _ = all_of(tpu.images(tmp_path, (32, 24), 2, crop=True, shuffle=False))
    assert (mixed[3] == 9).all() and (mixed[5] == 9).all()
    others = [at for at in range(len(jpegs)) if at not in (3, 5)]
    np.testing.assert_array_equal(mixed[others], sure[others])


def test_an_image_smaller_than_the_cut_is_scaled_to_cover_it(folder):
    x, _ = all_of(tpu.images(folder, (60, 96), 4, crop=True, shuffle=False))
    assert x.shape == (11, 60, 96, 3)
    first = tf.io.decode_image(tf.io.read_file(tpu.images(folder, shuffle=False).file_paths[0]))
    scaled = np.round(tf.image.resize(first, (80, 96)).numpy())
    assert np.abs(scaled[10:70] - x[0]).max() <= 1


def test_every_image_is_seen_once_an_epoch_in_an_order_that_the_seed_fixes(folder):
    plain, labels = all_of(tpu.images(folder, (8, 8), shuffle=False))
    known = {image.tobytes(): at for at, image in enumerate(plain)}
    orders = []
    for seed in (1, 1, 2):
        dataset = tpu.images(folder, (8, 8), 4, seed=seed)
        for _ in range(2):
            pixels, targets = all_of(dataset)
            orders.append([known[image.tobytes()] for image in pixels])
            assert sorted(orders[-1]) == list(range(11))
            np.testing.assert_array_equal(targets, labels[orders[-1]])
    assert orders[0] == orders[2] and orders[1] == orders[3]
    assert orders[0] != orders[1] and orders[0] != orders[4]


def counting(monkeypatch):
    """Return a list that gets the number of files of each pass that decodes."""
    decodes, original = [], Decoder.batches
    monkeypatch.setattr(
        Decoder, "batches", lambda self, paths, size: decodes.append(len(paths)) or original(self, paths, size)
    )
    return decodes


def test_the_second_epoch_decodes_nothing(folder, monkeypatch):
    decodes = counting(monkeypatch)
    data = read_data(tpu.images(folder, (8, 8), 4, seed=0))
    epochs = [list(data.of_size(4, False, "keep")) for _ in range(3)]
    # A first batch is read to learn the shapes, and what it decoded is in the cache.
    assert decodes[:2] == [11, 11] and len(decodes) == 2
    by_label = [sorted(np.concatenate([x for x, _ in epoch]).sum(axis=(1, 2, 3))) for epoch in epochs]
    assert by_label[0] == by_label[1] == by_label[2]


def test_without_a_cache_each_epoch_decodes(folder, monkeypatch):
    decodes = counting(monkeypatch)
    dataset = tpu.images(folder, (8, 8), 4, cache=False)
    assert "not cached: cache=False" in notes_of(dataset).done[0].after
    for _ in range(2):
        all_of(dataset)
    assert decodes == [11, 11]


def test_a_fit_reads_batches_of_any_size_and_knows_the_rows(folder):
    data = read_data(tpu.images(folder, (8, 8), 4, shuffle=False))
    assert (data.form, data.rows, data.batches, data.batch_size) == ("image folder", 11, 3, 4)
    endless = data.of_size(8, True, "fill")
    labels = np.concatenate([next(endless)[1] for _ in range(11)])
    np.testing.assert_array_equal(labels, np.tile([0] * 7 + [1] * 4, 8))


def test_images_alone_and_grey(folder):
    batch = next(tpu.images(folder, (8, 8), labels=None, color_mode="grayscale").as_numpy_iterator())
    assert batch.shape == (11, 8, 8, 1)


def test_a_file_that_is_no_image_is_named(tmp_path):
    (tmp_path / "a").mkdir()
    tf.io.write_file(str(tmp_path / "a" / "1.jpg"), tf.io.encode_jpeg(np.zeros((8, 8, 3), "uint8")))
    (tmp_path / "a" / "2.jpg").write_bytes(b"no image")
    with pytest.raises(DataError, match="2.jpg cannot be read as an image"):
        read_data(tpu.images(tmp_path, (8, 8), shuffle=False))


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"labels": "words"}, "labels='words' is not known"),
        ({"color_mode": "cmyk"}, "color_mode='cmyk' is not known"),
        ({"size": 224}, "size=224 cannot be used"),
        ({"batch_size": 0}, "batch_size=0 cannot be used"),
        ({"validation_split": 0.2}, "do not go together"),
        ({"validation_split": 0.2, "subset": "training"}, "needs a seed"),
        ({"validation_split": 2, "subset": "training", "seed": 1}, "cannot be used"),
        ({"validation_split": 0.01, "subset": "training", "seed": 1}, "leaves nothing"),
        ({"folder": "nowhere"}, "There is no folder 'nowhere'"),
    ],
)
def test_arguments_that_cannot_be_used_get_one_clear_message(folder, arguments, what):
    with pytest.raises(DataError, match=what):
        tpu.images(**{"folder": folder, **arguments})


def test_a_folder_without_classes_or_images_is_named(folder, tmp_path):
    with pytest.raises(DataError, match="has no sub-folders") as caught:
        tpu.images(folder + "/ants")
    assert "labels=None" in caught.value.type_next
    with pytest.raises(DataError, match="There is no image"):
        tpu.images(tmp_path, labels=None)
