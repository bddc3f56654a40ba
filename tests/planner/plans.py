"""Rows, steps and answers of the compiler that tests make themselves."""

from __future__ import annotations

from typing import Any

from colab_tpu_magic.planner.module import BATCH, OPTIMIZER, PARAMETER, STATE, Argument, Lowered
from colab_tpu_magic.planner.results import Compiled, Cost, Memory, Unestimated
from colab_tpu_magic.planner.row import FITS, OUT_OF_MEMORY, LayerShare, MemoryParts, Row

GIB = 2**30


def row(batch_size: int = 1024, rate: float = 1000.0, **values: Any) -> Row:
    """Return a row that fits v5e-1, with a rate in examples per second."""
    slow = batch_size / rate if rate else 0.0
    told: dict[str, Any] = {
        "target": "v5e-1",
        "batch_size": batch_size,
        "precision": "",
        "status": FITS,
        "memory": MemoryParts(100, 200, 10, 90, 590, 10),
        "needed_bytes": 1000,
        "allowed_bytes": 16 * GIB,
        "step_seconds": (slow / 1.25, slow),
        "examples_per_second": (rate, rate * 1.25),
        "device_seconds": slow / 1.25,
        "layers": (LayerShare("block4", 0.3, 0.41), LayerShare("block1", 0.1, 0.1)),
        "compile_seconds": 8.0,
    }
    return Row(**{**told, **values})


def full_row(batch_size: int, needed: int = 20 * GIB, allowed: int = 16 * GIB) -> Row:
    """Return a row that does not fit."""
    said = f"Does not fit: {needed} needed, {allowed} there."
    return Row("v5e-1", batch_size, "", OUT_OF_MEMORY, said, needed_bytes=needed, allowed_bytes=allowed)


def lowered(batch_size: int = 1024, devices: int = 8, **values: Any) -> Lowered:
    """Return a step with two layers: 1,000 and 2,000 bytes of parameters and optimizer, 80 of a batch's row."""
    arguments = (
        Argument("net/a/kernel", PARAMETER, (250,), "float32"),
        Argument("adam/m", OPTIMIZER, (500,), "float32"),
        Argument("count", STATE, (), "int32"),
        Argument("x", BATCH, (batch_size, 20), "float32", sharded=True),
    )
    told: dict[str, Any] = {"flops": 1e9, "batch_size": batch_size, "layers": ("a", "b"), "optimizer": "adam"}
    return Lowered(b"module", devices, arguments, **{**told, **values})


COSTS = (
    Cost("jit(train_step)/jvp(a)/dot_general", "fusion", 400, 1.0, 4096, True),
    Cost("jit(train_step)/transpose(jvp(a))/dot_general", "fusion", 300, 1.0, 4096, True),
    Cost("jit(train_step)/jvp(b)/while/body/dot_general", "fusion", 10, 10.0, 64, True),
    Cost("jit(train_step)/adam/mul", "fusion", 100, 1.0, 5_000),
    Cost("jit(train_step)/jvp(compile_loss)/log", "fusion", 40, 1.0, 0),
    Cost("jit(train_step)/accuracy/mean", "fusion", 10, 1.0, 0),
    Cost("", "copy", 50, 1.0, 0),
)


def compiled(**values: Any) -> Compiled:
    """Return an answer of 1,000 cycles."""
    told: dict[str, Any] = {
        "memory": Memory(argument=13_000, output=3_100, alias=3_000, temp=50_000, code=7_000, peak=60_000),
        "flops": 1e8,
        "costs": COSTS,
        "unestimated": (
            Unestimated("all-reduce", "grad", 2.0, 1_000_000, 2_000_000),
            Unestimated("sort", "b", 1.0, 150_000, 300_000),
        ),
        "as_text_failed": False,
        "text_error": "",
        "libtpu": "0.0.42.1",
        "jax": "0.10.2",
        "seconds": 7.5,
        "notes": ("A loop runs ten times.",),
    }
    return Compiled(**{**told, **values})
