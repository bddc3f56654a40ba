"""TFRecord files give the rows that were written, each once an epoch; a spec that does not fit is named."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import colab_tpu_magic as tpu
from colab_tpu_magic.errors import DataError
from colab_tpu_magic.files.feature_spec import suggestion
from colab_tpu_magic.files.passes import passes_beneath
from colab_tpu_magic.files.paths import list_parent
from colab_tpu_magic.files.records import count_records
from colab_tpu_magic.rewrite.streams import read_data

tf = pytest.importorskip("tensorflow")
ROWS = 50
X = np.arange(ROWS * 3, dtype="float32").reshape(ROWS, 3)
WORDS = [[at + 1] * (at % 5 + 1) for at in range(ROWS)]
PIXELS = np.arange(ROWS * 4, dtype="uint8").reshape(ROWS, 2, 2)
SPEC = {"x": ("float32", (3,)), "y": "int64"}


def example(at):
    kinds = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=X[at])),
        "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[at])),
        "words": tf.train.Feature(int64_list=tf.train.Int64List(value=WORDS[at])),
        "pixels": tf.train.Feature(bytes_list=tf.train.BytesList(value=[PIXELS[at].tobytes()])),
    }
    return tf.train.Example(features=tf.train.Features(feature=kinds)).SerializeToString()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("records")
    for part in range(3):
        with tf.io.TFRecordWriter(str(root / f"part-{part}.tfrecord")) as file:
            for at in range(part, ROWS, 3):
                file.write(example(at))
    return root


def labels_of(dataset):
    return np.concatenate([y for _, y in dataset.as_numpy_iterator()])


def test_every_row_is_read_once_with_its_own_values(folder):
    dataset = tpu.tfrecords(f"{folder}/*.tfrecord", SPEC, label="y", batch_size=16)
    parts = list(dataset.as_numpy_iterator())
    x, y = np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])
    assert sorted(y) == list(range(ROWS))
    np.testing.assert_array_equal(x, X[y])
    assert [len(y) for _, y in parts] == [16, 16, 16, 2]
    assert int(dataset.cardinality()) == 4


def test_a_seed_fixes_the_order_and_each_epoch_has_its_own(folder):
    first, second = (tpu.tfrecords(f"{folder}/*", SPEC, label="y", seed=3) for _ in range(2))
    orders = [list(labels_of(first)) for _ in range(2)]
    assert orders[0] != orders[1] and sorted(orders[0]) != orders[0]
    assert [list(labels_of(second)) for _ in range(2)] == orders


def test_the_order_is_that_of_the_seed_and_the_pass_whatever_else_is_seeded(folder):
    orders = []
    for other in (1, 2):
        tf.random.set_seed(other)
        dataset = tpu.tfrecords(f"{folder}/*", SPEC, label="y", seed=3)
        orders.append([list(labels_of(dataset)) for _ in range(2)])
    assert orders[0] == orders[1]
    assert list(labels_of(tpu.tfrecords(f"{folder}/*", SPEC, label="y", seed=4))) != orders[0][0]


def test_passes_are_counted_also_beneath_what_was_mapped(folder):
    dataset = tpu.tfrecords(f"{folder}/*", SPEC, label="y", seed=3)
    mapped = dataset.map(lambda x, y: (x, y)).unbatch().batch(7)
    for _ in range(2):
        assert len(labels_of(mapped)) == ROWS
    assert [(one.seed, one.begun) for one in passes_beneath(mapped.repeat())] == [(3, 2)]
    assert passes_beneath(tpu.tfrecords(f"{folder}/*", SPEC, label="y", shuffle=False).batch(2)) == []
    assert passes_beneath(X) == passes_beneath(None) == []
    drawn = tpu.tfrecords(f"{folder}/*", SPEC, label="y")
    np.random.seed(5)
    again = tpu.tfrecords(f"{folder}/*", SPEC, label="y")
    np.random.seed(5)
    assert passes_beneath(again)[0].seed == np.random.randint(2**31) != passes_beneath(drawn)[0].seed


def test_without_shuffle_rows_come_file_after_file(folder):
    dataset = tpu.tfrecords(f"{folder}/*", SPEC, label="y", shuffle=False)
    assert list(labels_of(dataset)) == [at for part in range(3) for at in range(part, ROWS, 3)]


def test_tf_features_and_short_ones_are_the_same(folder):
    spec = {"x": tf.io.FixedLenFeature([3], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}
    ours = tpu.tfrecords(f"{folder}/*", SPEC, label="y", shuffle=False)
    theirs = tpu.tfrecords(f"{folder}/*", spec, label="y", shuffle=False)
    for (x, y), (tx, ty) in zip(ours.as_numpy_iterator(), theirs.as_numpy_iterator(), strict=True):
        np.testing.assert_array_equal(x, tx)
        np.testing.assert_array_equal(y, ty)


def test_raw_bytes_become_arrays_and_several_inputs_a_dict(folder):
    spec = {**SPEC, "pixels": ("uint8", (2, 2))}
    x, y = next(tpu.tfrecords(f"{folder}/*", spec, label="y", batch_size=64).as_numpy_iterator())
    assert set(x) == {"x", "pixels"} and x["pixels"].dtype == np.uint8
    np.testing.assert_array_equal(x["pixels"], PIXELS[y])


@pytest.mark.parametrize("words", [("int64", (None,)), ("int32", (None,)), tf.io.VarLenFeature(tf.int64)])
def test_rows_of_varying_length_are_padded_with_nought(folder, words):
    dataset = tpu.tfrecords(f"{folder}/*", {"words": words, "y": "int64"}, label="y", batch_size=16)
    data = read_data(dataset)
    assert (data.form, data.rows, data.lengths.axes) == ("TFRecord dataset", ROWS, ((1,), ()))
    for x, y in data.open():
        assert [list(row[row != 0]) for row in x] == [WORDS[at] for at in y]


def test_a_map_makes_rows_of_its_own(folder):
    dataset = tpu.tfrecords(f"{folder}/*", SPEC, map=lambda row: (row["x"] * 2, row["y"] + 1), batch_size=16)
    for x, y in dataset.as_numpy_iterator():
        np.testing.assert_array_equal(x, X[y - 1] * 2)


def test_a_fit_is_told_what_was_done_and_gets_batches_of_its_size(folder):
    data = read_data(tpu.tfrecords(f"{folder}/*", SPEC, label="y"))
    (done,) = data.done
    assert (done.rule, done.before) == ("input-pipeline", "3 TFRecord files, 50 rows")
    assert done.after == "read side by side, parsed 256 rows at a time, files and rows mixed (rows among 50)"
    endless = data.of_size(20, True, "fill")
    seen = np.concatenate([next(endless)[1] for _ in range(5)])
    assert sorted(seen) == sorted([*range(ROWS), *range(ROWS)])


def test_compressed_files_are_read_and_their_rows_unknown(folder, tmp_path):
    path = tmp_path / "rows.tfrecord.gz"
    path.write_bytes(gzip.compress((folder / "part-0.tfrecord").read_bytes()))
    data = read_data(tpu.tfrecords(path, SPEC, label="y", compression="GZIP"))
    assert data.rows is None and data.batches is None
    assert sorted(np.concatenate([y for _, y in data.open()])) == list(range(0, ROWS, 3))
    with pytest.raises(DataError, match="no whole TFRecord file") as caught:
        tpu.tfrecords(path, SPEC, label="y")
    assert 'compression="GZIP"' in caught.value.type_next


def test_records_are_counted_and_a_file_that_was_cut_off_is_named(folder, tmp_path):
    files = sorted(map(str, folder.glob("*.tfrecord")))
    assert count_records(files) == ROWS
    broken = tmp_path / "broken.tfrecord"
    broken.write_bytes((folder / "part-0.tfrecord").read_bytes()[:-3])
    with pytest.raises(DataError, match="broken.tfrecord"):
        count_records([*files, str(broken)])
    assert count_records(["gs://somewhere/x.tfrecord"]) is None


def test_without_features_the_message_tells_those_that_the_records_have(folder):
    with pytest.raises(DataError, match=r"pixels \(bytes\), words \(int64\), x \(3 × float32\), y \(int64\)") as caught:
        tpu.tfrecords(f"{folder}/*")
    assert '"x": ("float32", (3,)), "y": "int64"}, label="y")' in caught.value.type_next
    assert suggestion({"image": ("bytes", 1)}) == '{"image": "string"}'


@pytest.mark.parametrize(
    ("features", "arguments", "what"),
    [
        ({"z": "int64"}, {}, "The records have no feature 'z'"),
        ({"x": ("float32", (4,))}, {}, "has 3 values, and was asked for with 4"),
        ({"x": ("int64", (3,))}, {}, "holds float32, and was asked for as int64"),
        ({"x": object()}, {}, "features: 'x' is"),
        ({}, {}, "features: 'features' is"),
        (SPEC, {"label": "z"}, "label='z' is not among the features"),
        ({"y": "int64"}, {"label": "y"}, "no input is left"),
        (SPEC, {"label": "y", "map": len}, "Both label and map"),
    ],
)
def test_a_spec_that_does_not_fit_gets_one_clear_message(folder, features, arguments, what):
    with pytest.raises(DataError, match=what):
        tpu.tfrecords(f"{folder}/*", features, **arguments)


def test_a_pattern_that_matches_nothing_is_told():
    with pytest.raises(DataError, match="No file matches 'nowhere/") as caught:
        tpu.tfrecords("nowhere/*.tfrecord", SPEC)
    assert caught.value.type_next == "!ls"


def test_what_to_type_lists_a_folder_that_is_there(tmp_path, monkeypatch):
    (tmp_path / "my data").mkdir()
    monkeypatch.chdir(tmp_path)
    assert list_parent("z-*") == "!ls"
    assert list_parent("my data/z-*") == list_parent("my data/no/such/z-*") == "!ls 'my data'"
    assert list_parent("/no/such/folder") == "!ls /"
    assert list_parent("~/no/such") == "!ls ~"
    assert list_parent("gs://bucket/rows/z-*") == "!gsutil ls gs://bucket/rows/"
    with pytest.raises(DataError) as caught:
        tpu.images("my data/nothere", size=(8, 8))
    assert caught.value.type_next == "!ls 'my data'"


def test_a_bare_path_as_data_gets_the_line_to_type(folder):
    for path in (f"{folder}/*.tfrecord", folder / "part-0.tfrecord", [f"{folder}/part-0.tfrecord"]):
        with pytest.raises(DataError, match="path") as caught:
            read_data(path)
        assert "tpu.tfrecords(" in caught.value.type_next
    with pytest.raises(DataError, match="folder") as caught:
        read_data(str(folder))
    assert "tpu.images(" in caught.value.type_next
