"""Single rows, functions of data and what a script cannot read: written as it was trained, or refused with a way on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from colab_tpu_magic.errors import ExportError
from colab_tpu_magic.training.recipe import DataFacts

from .notebooks import SETUP, exported, run_in, script

ROWS = DataFacts("tf.data.Dataset", None, 32, batches=4, single=True)


def text_of(fit: str, **values) -> str:
    text = script([SETUP, "data = make = None", f"%%tpu_fit --seed 0\n{fit}"], **values)
    compile(text, "script", "exec")
    return text


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"data": ROWS}, "    data.repeat().batch(48, drop_remainder=True),\n"),
        ({"data": replace(ROWS, infinite=True)}, "    data.batch(48, drop_remainder=True),\n"),
        (
            {"data": ROWS, "steps_per_epoch": None},
            "data.concatenate(data.repeat().take(47)).batch(48, drop_remainder=True),",
        ),
        ({"data": ROWS, "full_batches": False, "batch_size": 32}, "    data.batch(32),\n"),
    ],
)
def test_single_rows_are_batched_and_not_cut_again(values, expected):
    text = text_of("model.fit(data)", **values)
    assert expected in text
    assert "rebatch" not in text
    assert "unbatch" not in text


def test_single_rows_of_the_validation_are_batched_too():
    values = {"data": ROWS, "validation": ROWS, "validation_batch_size": 16}
    assert "validation_data=data.batch(16)," in text_of("model.fit(data, validation_data=data)", **values)


@pytest.mark.parametrize(
    ("fit", "facts", "expected"),
    [
        ("model.fit(make)", DataFacts("generator function", None, 7, call="()"), "full_batches_of(lambda: make(), "),
        ("model.fit(make)", DataFacts("tf.data.Dataset", None, 7, call="()"), "    make().repeat().rebatch(48, "),
        (
            "model.fit(lambda: make(3))",
            replace(ROWS, call="(batch_size=32)"),
            "    (lambda: make(3))(batch_size=32).repeat().batch(48, ",
        ),
    ],
)
def test_a_function_of_data_is_called(fit, facts, expected):
    assert expected in text_of(fit, data=facts)


def test_a_function_of_arrays_is_called_once_and_its_arrays_are_cut():
    text = text_of("model.fit(make)", data=DataFacts("arrays", 100, call="()"), kinds=("other", "", ""))
    assert "made_x, made_y = make()\nmodel.fit(\n    full_batches(np.asarray(made_x), np.asarray(made_y), " in text


VARYING = DataFacts(
    "tf.data.Dataset", None, 7, longest=(((1, 24),), ()), fill=(0.0, 0.0), masked=True, infinite=False, batches=4
)


@pytest.mark.parametrize(
    ("facts", "values", "expected"),
    [
        (VARYING, {}, "full_batches_in_lengths(lambda: data, batch_size=48, longest=[{1: 24}, {}], fill=[0, 0]),"),
        (replace(VARYING, dense=True), {}, "lambda: dense(data), batch_size=48"),
        (replace(VARYING, single=True), {}, "lambda: data.repeat().padded_batch(48, drop_remainder=True), batch"),
        (
            replace(VARYING, single=True, fill=(-1.0, 0.0)),
            {"steps_per_epoch": None},
            "lambda: padded_rows(data, 48, fill=[-1, 0]), batch_size=48, longest=[{1: 24}, {}], fill=[-1, 0], "
            "forever=False),",
        ),
        (replace(VARYING, single=True), {"passes": ((5, 1),)}, "lambda: data.padded_batch(1), batch_size=48"),
    ],
)
def test_rows_of_varying_length_are_padded_to_the_lengths_of_the_run(facts, values, expected):
    text = text_of("model.fit(data)", data=facts, **values)
    assert expected in text
    assert "def full_batches_in_lengths(" in text


def test_what_ends_is_handed_to_jax_as_a_dataset_that_ends():
    text = text_of("model.fit(data)", data=VARYING, steps_per_epoch=None)
    assert "return Endless(batches) if forever else as_dataset_in_lengths(batches, batch_size, longest, most)" in text
    assert "import tensorflow as tf" in text
    assert "if forever else" not in text_of("model.fit(data)", data=VARYING)


def test_sparse_tensors_are_written_out_in_full():
    sparse = DataFacts("tf.data.Dataset", None, 7, dense=True)
    text = text_of("model.fit(data)", data=sparse)
    assert "dense(data).repeat().rebatch(48, drop_remainder=True)" in text
    assert "return tf.sparse.to_dense(tensor)" in text


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (replace(VARYING, longest=(), fill=()), "validation_data=data.rebatch(16),"),
        (VARYING, "validation_data=data.unbatch().padded_batch(16),"),
        (replace(VARYING, batch_size=8), "validation_data=data,"),
    ],
)
def test_tensorflow_replicas_get_validation_batches_that_they_can_share(facts, expected):
    values = {"backend": "tensorflow", "replicas": 2, "kind": "simulated", "validation_batch_size": 16}
    assert expected in text_of("model.fit(data, validation_data=data)", data=VARYING, validation=facts, **values)
    with pytest.raises(ExportError, match=r"7 rows of varying length[\s\S]*no mask[\s\S]*padded_batch\(8\)"):
        text_of("model.fit(data, validation_data=data)", validation=replace(VARYING, masked=False), **values)


IMAGES = DataFacts("image folder", None, 32, batches=4)


@pytest.mark.parametrize(
    ("imported", "made", "plain", "there", "not_there"),
    [
        ("import colab_tpu_magic as tpu", "tpu.images('i')", "data = images_of_folder('i')", "image_files", "is_jpeg"),
        ("import colab_tpu_magic as tpu", "tpu.images('i', crop=True)", "folder('i', crop=True)", "is_jpeg", "Records"),
        ("import colab_tpu_magic as tpu", "tpu.tfrecords('a', {})", "rows_of_records('a', {})", "interleave", "images"),
        (
            "from colab_tpu_magic import images as read",
            "read('i').map(len)",
            "folder('i').map(len)",
            "Passes",
            "feature",
        ),
    ],
)
def test_files_are_read_by_functions_that_the_script_brings_along(imported, made, plain, there, not_there):
    cells = [SETUP, f"{imported}\ndata = {made}", "%%tpu_fit\nmodel.fit(data)"]
    text = script(cells, data=IMAGES, passes=((7, 1),))
    compile(text, "script", "exec")
    assert plain in text and there in text and "colab_tpu_magic" not in text
    assert not_there not in text
    assert "full_batches_of(lambda: data, batch_size=48, first_pass=(7, 1))," in text
    assert text.count("import tensorflow as tf") == 1


def test_files_that_the_fit_itself_reads_are_written_in_its_place():
    text = script(
        [
            SETUP,
            "import colab_tpu_magic as tpu",
            "%%tpu_fit\nmodel.fit(tpu.images('i'), validation_data=tpu.images('j'))",
        ],
        data=IMAGES,
        validation=IMAGES,
        passes=((7, 1),),
    )
    assert "full_batches_of(lambda data=images_of_folder('i'): data, " in text
    assert "validation_data=images_of_folder('j')," in text


def test_fits_that_begin_with_different_passes_each_get_their_own():
    cells = [SETUP, "data = 0", "%%tpu_fit\nfor _ in range(2):\n    model.fit(data)"]
    runs = [run_in(cells, 3, place=1 + nth, data=IMAGES, passes=((7, 1 + 2 * nth),)) for nth in range(2)]
    text = exported(cells, *runs).script()
    assert "first_passes = iter([(7, 1), (7, 3)])" in text
    assert "first_pass=next(first_passes))" in text


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"passes": ((1, 1), (2, 1))}, r"2 datasets of files[\s\S]*one seed"),
        ({"passes": ((1, 1),), "steps_per_epoch": None, "epochs": 2}, r"not counted[\s\S]*steps_per_epoch=100"),
    ],
)
def test_an_order_of_files_that_a_script_could_not_repeat_is_refused(values, message):
    with pytest.raises(ExportError, match=message):
        text_of("model.fit(data)", data=IMAGES, **values)


def test_one_dataset_of_files_for_both_is_named():
    cells = [SETUP, "data = 0", "%%tpu_fit\nmodel.fit(data, validation_data=data)"]
    values = {"data": IMAGES, "validation": IMAGES, "passes": ((7, 1),), "validates_on_the_same": True}
    assert "The same dataset of files trains and validates" in "".join(
        exported(cells, run_in(cells, 3, **values)).notes
    )


@pytest.mark.parametrize(
    ("kind", "split", "expected"),
    [
        ("{}.toarray()", None, "full_batches(x.toarray(), y, batch"),
        ("{}.toarray()", 80, "all_x = x.toarray()"),
        ("keras.tree.map_structure(np.asarray, {})", None, "full_batches(keras.tree.map_structure(np.asarray, x), y, "),
        ("tf.sparse.to_dense({}).numpy()", None, "import tensorflow as tf"),
    ],
)
def test_arrays_that_are_none_are_made_before_their_rows_are_taken(kind, split, expected):
    values = {"validation": DataFacts("arrays", 20), "validation_split_at": split} if split else {}
    text = text_of("model.fit(x, y, validation_split=0.2)", kinds=(kind, "array", ""), **values)
    assert expected in text
    if split:
        assert "full_batches(all_x[:80], y[:80], " in text and "validation_data=(all_x[80:], y[80:])" in text


def test_rows_that_are_read_one_by_one_are_refused_with_a_line_that_makes_arrays():
    with pytest.raises(ExportError, match=r"x holds data that was read row by row[\s\S]*numpy.stack"):
        text_of("model.fit(x)", kinds=("unknown", "", ""))


def test_text_that_was_made_numbers_outside_of_the_step_is_refused_with_the_line_to_type():
    with pytest.raises(ExportError, match=r"'words' made numbers of text[\s\S]*x = words\(texts\); rest = "):
        text_of("model.fit(data, data)", text="words")


def test_batches_of_rows_alike_in_length_are_refused_with_the_line_to_type():
    with pytest.raises(ExportError, match=r"rows of alike length[\s\S]*shuffle=False"):
        text_of("model.fit(data, data)", alike=True)


def test_a_function_that_reads_files_is_refused_with_the_line_to_type():
    with pytest.raises(ExportError, match=r"a function that reads files[\s\S]*data = make\(\); model.fit\(data"):
        text_of("model.fit(make)", data=replace(IMAGES, call="()"))
