"""Single rows, functions of data and what a script cannot read: written as it was trained, or refused with a way on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from colab_tpu_magic.errors import ExportError
from colab_tpu_magic.training.recipe import DataFacts

from .notebooks import SETUP, script

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
        ("model.fit(make)", DataFacts("tf.data.Dataset", None, 7, call="()"), "(make()).repeat().rebatch(48, "),
        (
            "model.fit(lambda: make(3))",
            replace(ROWS, call="(batch_size=32)"),
            "((lambda: make(3))(batch_size=32)).repeat().batch(48, ",
        ),
    ],
)
def test_a_function_of_data_is_called(fit, facts, expected):
    assert expected in text_of(fit, data=facts)


def test_a_function_of_arrays_is_called_once_and_its_arrays_are_cut():
    text = text_of("model.fit(make)", data=DataFacts("arrays", 100, call="()"), kinds=("other", "", ""))
    assert "made_x, made_y = make()\nmodel.fit(\n    full_batches(np.asarray(made_x), np.asarray(made_y), " in text


@pytest.mark.parametrize(
    "unwritten", ["rows of varying length, which were padded to a few lengths", "sparse tensors, which were written"]
)
def test_what_no_line_can_say_is_refused(unwritten):
    with pytest.raises(ExportError, match=rf"{unwritten}[\s\S]*not written out[\s\S]*padded_batch"):
        text_of("model.fit(data)", data=replace(ROWS, unwritten=unwritten))


@pytest.mark.parametrize(
    ("imported", "made", "instead"),
    [
        ("import colab_tpu_magic as tpu", "tpu.images('imgs')", "image_dataset_from_directory"),
        ("import colab_tpu_magic as tpu", "tpu.tfrecords('a*', {})", "tf.data.TFRecordDataset"),
        ("from colab_tpu_magic import images as read", "read('imgs').map(len)", "image_dataset_from_directory"),
    ],
)
def test_data_that_this_package_reads_is_refused_with_what_to_type(imported, made, instead):
    with pytest.raises(ExportError, match=rf"belongs to colab_tpu_magic[\s\S]*{instead}"):
        script([SETUP, f"{imported}\ndata = {made}", "%%tpu_fit\nmodel.fit(data)"], data=ROWS)


def test_text_that_was_made_numbers_outside_of_the_step_is_refused_with_the_line_to_type():
    with pytest.raises(ExportError, match=r"'words' made numbers of text[\s\S]*x = words\(texts\); rest = "):
        text_of("model.fit(data, data)", text="words")
