"""What is told of a lowered step: bytes by role and device, and a digest of all that matters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from colab_tpu_magic.planner.module import BATCH, OPTIMIZER, PARAMETER, Argument, Lowered

KERNEL = Argument("net/dense/kernel", PARAMETER, (784, 128), "float32", donated=True)
MOMENTUM = Argument("adam/net_dense_kernel_momentum", OPTIMIZER, (784, 128), "bfloat16", donated=True)
IMAGES = Argument("x", BATCH, (1024, 28, 28, 1), "uint8", sharded=True)
STEP = Lowered(b"module", 8, (KERNEL, MOMENTUM, IMAGES), ("dense",), 1e9)


@pytest.mark.parametrize(
    ("dtype", "width"),
    [("float32", 4), ("bfloat16", 2), ("int64", 8), ("uint8", 1), ("bool", 1), ("float8_e4m3fn", 1), ("int4", 1)],
)
def test_an_argument_takes_the_bytes_of_its_dtype(dtype: str, width: int) -> None:
    assert Argument("a", PARAMETER, (3, 5), dtype).bytes == 15 * width
    assert Argument("a", PARAMETER, (), dtype).bytes == width


def test_bytes_are_added_up_by_role() -> None:
    assert STEP.bytes_of(PARAMETER) == 784 * 128 * 4
    assert STEP.bytes_of(OPTIMIZER) == 784 * 128 * 2
    assert STEP.bytes_of(BATCH) == 1024 * 784
    assert STEP.bytes_of("state") == 0


def test_a_device_holds_its_share_of_the_batch_and_all_of_the_state() -> None:
    assert STEP.bytes_per_device(BATCH) == 128 * 784
    assert STEP.bytes_per_device(PARAMETER) == 784 * 128 * 4


@pytest.mark.parametrize(
    "other",
    [
        {"artifact": b"another"},
        {"devices": 4},
        {"arguments": (KERNEL, IMAGES)},
        {"arguments": (replace(KERNEL, role=OPTIMIZER), MOMENTUM, IMAGES)},
        {"layers": ("hidden",)},
        {"flops": 2e9},
    ],
)
def test_the_digest_differs_with_anything_that_matters(other: dict) -> None:
    assert replace(STEP, **other).digest() != STEP.digest()


def test_the_digest_is_that_of_the_contents() -> None:
    assert replace(STEP).digest() == STEP.digest()
    assert len(STEP.digest()) == 64
    assert replace(STEP, remarks=("A sentence for people.",)).digest() == STEP.digest()
