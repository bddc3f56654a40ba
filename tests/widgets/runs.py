"""Runs for the tests of the widgets, made without training."""

from __future__ import annotations

from typing import Any

from colab_tpu_magic.rewrite.change import Change
from colab_tpu_magic.training.run import Run
from colab_tpu_magic.training.series import Series

DEVICE = "8 simulated replicas (v2-8) on CPU, JAX backend"


def series(name: str, points: dict[int, float]) -> Series:
    made = Series(name)
    for step, value in points.items():
        made.add(step, value)
    return made


def empty_run(**fields: Any) -> Run:
    return Run(
        **{"device": DEVICE, "replicas": 8, "global_batch_size": 1024, "epochs": 2, "steps_per_epoch": 10} | fields
    )


def finished_run(**fields: Any) -> Run:
    """Return two epochs of ten steps with loss and accuracy, train and validation."""
    known: dict[str, Any] = {
        "status": "completed",
        "phase": "done",
        "epoch": 2,
        "step": 20,
        "epoch_step": 10,
        "compile_seconds": 3.0,
        "duration_seconds": 22.0,
        "train": {
            "accuracy": series("accuracy", {5: 0.5, 10: 0.75, 15: 0.8, 20: 0.875}),
            "loss": series("loss", {5: 2.0, 10: 1.0, 15: 0.75, 20: 0.5}),
        },
        "validation": {
            "accuracy": series("val_accuracy", {10: 0.7, 20: 0.85}),
            "loss": series("val_loss", {10: 1.25, 20: 0.625}),
        },
    }
    return empty_run(**known | fields)


def change(rule: str = "batch-size", **fields: str) -> Change:
    known = {
        "title": "Global batch size",
        "before": "32",
        "after": "1,024",
        "why": "A TPU multiplies large tiles.",
        "source": "the performance guide",
        "switch": "--batch-size keep",
    }
    return Change(rule=rule, **known | fields)
