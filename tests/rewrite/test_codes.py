"""Floats as bytes: what is proven to be the same, and everything that is not and stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

from colab_tpu_magic.rewrite import codes as module
from colab_tpu_magic.rewrite.codes import SMALLEST_BYTES, coded, written
from colab_tpu_magic.rewrite.sources import ArraySource

ROWS = 500
FLOAT32 = np.dtype("float32")


def pixels(low: int = 0, high: int = 256) -> np.ndarray:
    """Return uint8 (500, 28, 28), 1.5 MB as float32: twelve pieces, the last one shorter."""
    return np.random.default_rng(0).integers(low, high, (ROWS, 28, 28)).astype("uint8")


def bits(array: np.ndarray) -> np.ndarray:
    """Return floats as the integers that their bits are, for -0.0 equals 0.0."""
    return array.view(np.uint32)


NORMALISED = {
    "k": lambda p: p.astype("float32"),
    "k/255": lambda p: p.astype("float32") / 255,
    "k*(1/255)": lambda p: p.astype("float32") * np.float32(1 / 255),
    "k/127.5-1": lambda p: p.astype("float32") / 127.5 - 1,
    "(k-mean)/std": lambda p: (p.astype("float32") - np.float32(33.3)) / np.float32(78.6),
}


@pytest.mark.parametrize("form", NORMALISED)
def test_pixels_of_every_usual_normalisation_come_back_bit_for_bit(form):
    x = NORMALISED[form](pixels())
    found = written(x)
    assert (found.array.dtype, found.array.shape, found.values) == (np.uint8, x.shape, 256)
    assert (bits(found.table[found.array]) == bits(x)).all()


@pytest.mark.parametrize(("high", "values"), [(2, 2), (7, 7), (101, 101)])
def test_fewer_values_make_a_shorter_table(high, values):
    x = NORMALISED["k/255"](pixels(0, high))
    found = written(x)
    assert (found.values, len(found.table)) == (values, values)
    assert (bits(found.table[found.array]) == bits(x)).all()


def test_a_value_that_no_sample_shows_is_still_in_the_table():
    p = pixels(0, 100)
    p[-1, -1, -1], p[7, 7, 7] = 255, 180
    found = written(NORMALISED["k/255"](p))
    assert (found.values, len(found.table)) == (102, 256)
    assert found.table[found.array][-1, -1, -1] == 1 and found.table[found.array][7, 7, 7] == np.float32(180) / 255


def test_float64_is_written_as_the_float32_that_a_batch_would_be_cast_to():
    x = pixels() / 255.0
    assert written(x) is None, "the dtypes rule is off: it stays float64"
    found = written(x, FLOAT32)
    assert (bits(found.table[found.array]) == bits(x.astype("float32"))).all()


def test_all_zeros_of_one_sign_are_kept_with_it():
    x = np.where(pixels(0, 2) == 0, np.float32(-0.0), np.float32(1))
    found = written(x)
    assert np.signbit(found.table[0]) and (bits(found.table[found.array]) == bits(x)).all()


def spoilt(value: float) -> np.ndarray:
    x = NORMALISED["k/255"](pixels())
    x[-1, -1, -1] = value
    return x


@pytest.mark.parametrize(
    "value",
    [0.5, np.nextafter(np.float32(1 / 255), np.float32(1)), 1.1, -0.1, np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-40],
)
def test_one_other_value_in_the_last_row_leaves_the_array_as_it_is(value):
    x = spoilt(value)
    before = x.copy()
    assert written(x) is None
    assert (bits(x) == bits(before)).all()


def test_257_values_are_one_too_many():
    x = np.random.default_rng(0).integers(0, 257, (ROWS, 28, 28)).astype("float32")
    x[0, 0, :2] = 0, 256
    assert written(x) is None


@pytest.mark.parametrize(
    "x",
    [
        np.random.default_rng(0).normal(size=(ROWS, 784)).astype("float32"),
        np.sqrt(pixels().astype("float32")),  # few values, uneven steps
        np.full((ROWS, 784), 0.5, "float32"),
        np.full((ROWS, 784), np.nan, "float32"),
        (pixels() * np.float32(1e-42)).astype("float32"),
        (pixels() - 128.0).astype("float32") * np.float32(2.6e36),  # the span is no float32
        pixels(),
        pixels().astype("int32"),
        pixels().astype("float16"),
        NORMALISED["k/255"](pixels()).transpose(1, 0, 2),
        NORMALISED["k/255"](pixels())[:, ::2],
        NORMALISED["k/255"](pixels()).astype(">f4"),
        NORMALISED["k/255"](pixels())[: SMALLEST_BYTES // (784 * 4)],
    ],
    ids=[
        "normal",
        "sqrt",
        "one value",
        "nan",
        "denormal",
        "wide",
        "u8",
        "i32",
        "f16",
        "turned",
        "cut",
        "swapped",
        "small",
    ],
)
def test_what_is_no_large_array_of_few_values_on_even_steps_stays(x):
    assert written(x) is None


def test_small_arrays_and_arrays_in_a_file_stay(tmp_path):
    x = NORMALISED["k/255"](pixels())
    assert written(x[:334]) is None and written(x[:335]) is not None
    np.save(tmp_path / "x.npy", x)
    lying = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert written(lying) is None and written(np.asarray(lying)) is None and written(lying[:400]) is None


def test_nothing_is_written_where_memory_is_short(monkeypatch):
    x = NORMALISED["k/255"](pixels())
    monkeypatch.setattr(module, "available_bytes", lambda: 4 * x.size - 1)
    assert written(x) is None
    monkeypatch.setattr(module, "available_bytes", lambda: 4 * x.size)
    assert written(x) is not None


def test_only_inputs_are_coded_and_everything_else_of_a_source_stays():
    image, y = NORMALISED["k/255"](pixels()), np.zeros(ROWS, "float64")
    wide = np.random.default_rng(1).normal(size=(ROWS, 700))
    source = ArraySource(({"image": image, "wide": wide}, image), ROWS, (None, FLOAT32, None))
    found = coded(source)
    tree = found.source.tree
    assert tree[0]["image"].dtype == np.uint8 and tree[0]["wide"] is wide and tree[1] is image
    assert [table is None for table in found.tables] == [False, True, True]
    assert (found.values, found.row_bytes, found.source.dtypes) == ((256,), 784, (None, FLOAT32, None))
    assert coded(ArraySource((wide, y), ROWS, (FLOAT32, FLOAT32))) is None
    batch = found.source.take(np.array([3, 499, 3]))
    assert (bits(found.tables[0][batch[0]["image"]]) == bits(image[[3, 499, 3]])).all()
