"""Plans for the tests of the card, made by hand."""

from __future__ import annotations

from dataclasses import replace

from colab_tpu_magic.options import FitOptions
from colab_tpu_magic.planner.plan import Advice, Curve, CurvePoint, HostRate, Plan
from colab_tpu_magic.planner.row import LayerShare, MemoryParts, Row

MIB, GIB = 2**20, 2**30
ALLOWED = int(15.75 * GIB)
LAYERS = (
    LayerShare("block4/conv_a", 0.2, 0.31),
    LayerShare("block4/conv_b", 0.1, 0.11),
    LayerShare("dense", 0.02, 0.05),
    LayerShare("flatten", 0.01, 0.0),
)


def row(batch_size: int = 1024, target: str = "v5e-1", precision: str = "", rate: float = 41_000.0, **more) -> Row:
    """Return a row that fits; ``rate`` examples a second, its memory in proportion to the batch."""
    memory = MemoryParts(100 * MIB, 200 * MIB, MIB, batch_size * MIB // 64, batch_size * 4 * MIB, 3 * MIB)
    settings = {
        "memory": memory,
        "needed_bytes": memory.needed,
        "allowed_bytes": ALLOWED,
        "step_seconds": (batch_size / rate / 1.1, batch_size / rate),
        "examples_per_second": (rate, 1.1 * rate),
        "device_seconds": batch_size / rate / 1.1,
        "flops": 16.8e9,
        "mxu_utilisation": 0.62,
        "hbm_bytes_moved": 3.1 * GIB,
        "bound": "MXU",
        "layers": LAYERS,
        "optimizer_share": 0.12,
        "loss_share": 0.03,
        "unnamed_share": 0.05,
        "unestimated": ("197 all-reduce (50.1 MiB)",),
        "compile_seconds": 7.3,
    }
    return Row(target, batch_size, precision, "fits", **{**settings, **more})


def too_large(batch_size: int = 4096, target: str = "v5e-1", precision: str = "") -> Row:
    """Return a row that does not fit."""
    return Row(
        target,
        batch_size,
        precision,
        "out-of-memory",
        reason="Does not fit: 19.20 GiB needed on each device, 15.75 GiB there.",
        needed_bytes=int(19.2 * GIB),
        allowed_bytes=ALLOWED,
    )


def refused(batch_size: int = 1024, target: str = "v2-8", reason: str = "The compiler crashed, twice.") -> Row:
    """Return a row that was not compiled."""
    return Row(target, batch_size, "", "refused", reason=reason)


def points(*pairs: tuple[int, float, bool]) -> tuple[CurvePoint, ...]:
    """Return the points of a curve from batch size, rate and whether it was compiled."""
    return tuple(CurvePoint(*pair) for pair in pairs)


def plan(**more) -> Plan:
    """Return a plan of one target: three batch sizes that fit, and one that does not."""
    rows = (row(128, rate=16_000.0), row(512, rate=33_000.0), row(1024), too_large())
    found = Plan(
        "resnet",
        rows,
        (
            Curve(
                "v5e-1",
                "",
                points(
                    (128, 16e3, True), (256, 25e3, False), (512, 33e3, True), (1024, 41e3, True), (2048, 42e3, False)
                ),
                largest_batch=3072,
                first_refused=3584,
            ),
        ),
        (Advice("bfloat16 would be 1.3 times as fast.", 1.3, 41e3, 53e3, "--precision bfloat16"),),
        HostRate(12_300.0, "the prepared pipeline, 8 batches", False),
        "Fits v5e-1 up to batch 3,072; best 1,024: about 41,000 examples/s; 51 % of the time in block4/conv_a.",
        FitOptions(batch_size=1024),
        "jax 0.10.2, libtpu 0.0.42.1",
        31.0,
    )
    return replace(found, **more)


def wide_plan() -> Plan:
    """Return a plan of two targets in two precisions, with a row that was refused."""
    rows, curves = [], []
    for target, speed in (("v5e-1", 1.0), ("v2-8", 1.9)):
        for precision, gain in (("float32", 1.0), ("bfloat16", 1.3)):
            found = [row(size, target, precision, rate * speed * gain) for size, rate in SIZES]
            rows += [*found, too_large(4096, target, precision)]
            curves.append(
                Curve(target, precision, points(*((one.batch_size, one.speed, True) for one in found)), 3072, 4096)
            )
    rows.append(refused(reason="Not compiled within 120 s. A longer time is allowed by --seconds."))
    return plan(rows=tuple(rows), curves=tuple(curves), recommended=FitOptions(batch_size=1024, precision="bfloat16"))


SIZES = ((128, 16e3), (512, 33e3), (1024, 41e3))
