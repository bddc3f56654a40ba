"""A tf.data.Dataset over batches that Python makes: right values, each pass anew, errors told, TensorFlow left as it was."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from colab_tpu_magic.rewrite.python_dataset import MOST_PASSES, python_dataset  # noqa: E402

SPECS = (tf.TensorSpec((4, 2), "float32"), {"a": tf.TensorSpec((4,), "int32")})


def three():
    for number in range(3):
        yield np.full((4, 2), number, "float32"), {"a": np.full(4, number, "int32")}


def numbers(dataset):
    return [(float(x[0, 0]), int(y["a"][3])) for x, y in dataset]


def test_each_pass_gives_every_batch_with_its_static_shape():
    dataset = python_dataset(three, SPECS)
    assert dataset.element_spec == SPECS
    for _ in range(2):
        assert numbers(dataset) == [(0.0, 0), (1.0, 1), (2.0, 2)]
    assert [y for _, y in numbers(dataset.repeat().take(8))] == [0, 1, 2, 0, 1, 2, 0, 1]


def test_passes_at_the_same_time_do_not_disturb_each_other_and_old_ones_end():
    dataset = python_dataset(three, SPECS)
    assert [(int(a[1]["a"][0]), int(b[1]["a"][0])) for a, b in zip(dataset, dataset, strict=True)] == [
        (0, 0),
        (1, 1),
        (2, 2),
    ]
    first = iter(dataset)
    next(first)
    for _ in range(MOST_PASSES):
        next(iter(dataset))
    assert len(list(first)) <= 2  # what tf.data had read ahead may still come


@pytest.mark.parametrize("shape", [(None, 2), (4, None), (None, None)])
def test_free_axes_take_any_length(shape):
    sizes = [(4, 2)] * 2 if None not in shape else [tuple(2 + i if n is None else n for n in shape) for i in range(3)]
    dataset = python_dataset(lambda: ((np.ones(size, "uint8"),) for size in sizes), (tf.TensorSpec(shape, "uint8"),))
    assert [tuple(batch.shape) for (batch,) in dataset] == sizes


def test_no_batch_at_all_is_an_empty_pass():
    assert list(python_dataset(lambda: iter(()), SPECS)) == []


def test_one_array_that_stands_for_itself_stays_one():
    (batch,) = python_dataset(lambda: iter([np.arange(3)]), tf.TensorSpec((3,), "int64"))
    assert batch.numpy().tolist() == [0, 1, 2]


def test_a_batch_that_does_not_fit_is_told_with_both_shapes():
    batches = [(np.ones(4, "float32"),), (np.ones(3, "float32"),)]
    read = iter(python_dataset(lambda: iter(batches), (tf.TensorSpec((4,), "float32"),)))
    assert next(read)[0].shape == (4,)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"shape \(3,\) and float32, where \(4,\) and float32"):
        next(read)


def test_what_the_data_raises_reaches_the_reader():
    def broken():
        yield (np.ones(4, "float32"),)
        raise OSError("disk")

    read = iter(python_dataset(broken, (tf.TensorSpec((4,), "float32"),)))
    with pytest.raises(tf.errors.UnknownError, match="OSError: disk"):
        list(read)


def test_the_memory_of_the_process_is_managed_as_before():
    """`from_generator` writes "Memory patch applied" and makes large tensors cost a page fault for every 4 KiB."""
    code = """
import numpy as np, tensorflow as tf
from colab_tpu_magic.rewrite.python_dataset import python_dataset
list(python_dataset(lambda: iter([(np.ones(4, "float32"),)]), (tf.TensorSpec((4,), "float32"),)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Memory patch" not in done.stderr


def aligned(size):
    memory = np.empty(4 * size + 64, "uint8")
    start = -memory.ctypes.data % 64
    return memory[start : start + 4 * size].view("float32")


@pytest.mark.parametrize("given_away", [False, True])
def test_memory_is_tensorflows_only_where_it_is_given_away(given_away):
    array = aligned(1024)
    array[:] = 3
    dataset = python_dataset(lambda: iter([(array,)]), (tf.TensorSpec((1024,), "float32"),), given_away)
    ((batch,),) = list(dataset)
    array[:] = 4
    assert set(batch.numpy().tolist()) == ({4.0} if given_away else {3.0})
