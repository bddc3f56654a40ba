"""The lowered step of a real model, compiled for TPUs by the real compiler: names, memory and cost on both backends."""

from __future__ import annotations

import os
from typing import Any

import keras
import pytest
from keras import layers

from colab_tpu_magic.planner.lower import lower
from colab_tpu_magic.planner.lower.names import named
from colab_tpu_magic.planner.module import BATCH, OPTIMIZER, PARAMETER, STATE

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not os.environ.get("TPU_MAGIC_COMPILER_PYTHON"), reason="no compiler here"),
    pytest.mark.skipif(os.environ.get("TPU_MAGIC_ENGINE", "").endswith("-1"), reason="the same with several replicas"),
]


@pytest.fixture(scope="module")
def compiled() -> Any:
    """The MNIST CNN at 1,024 rows on v2-8: what was lowered, and what the compiler says."""
    planner = pytest.importorskip("colab_tpu_magic.planner.compiler")
    targets = pytest.importorskip("colab_tpu_magic.planner.targets")
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(32, 3, activation="relu", name="conv_a"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu", name="conv_b"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(128, activation="relu", name="hidden"),
            layers.Dense(10, name="logits"),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    x, y = keras.KerasTensor((None, 28, 28, 1), "float32"), keras.KerasTensor((None,), "int32")
    lowered = lower(model, x, y, devices=8, batch_size=1024)
    with planner.Compiler() as compiler:
        answer = compiler.compile(lowered, targets.target("v2-8"), seconds=120)
    assert isinstance(answer, planner.Compiled), answer
    return lowered, answer


def test_most_of_the_time_has_the_name_of_a_layer_and_its_direction(compiled: Any) -> None:
    lowered, answer = compiled
    shares: dict[tuple[str, str], float] = {}
    for cost in answer.costs:
        place = named(cost.op_name, lowered.layers, lowered.optimizer)
        key = (place.layer, place.part)
        shares[key] = shares.get(key, 0) + cost.cycles * cost.trips
    total = sum(shares.values())
    assert sum(share for (_, part), share in shares.items() if part not in ("", "rest")) / total > 0.85
    for layer in ("conv_a", "conv_b", "hidden", "logits"):
        assert shares[layer, "forward"] > 0 and shares[layer, "backward"] > 0, layer


def test_cycles_and_memory_are_what_was_measured_before(compiled: Any) -> None:
    """0.55 million cycles and 0.028 GiB a core in November 2026, with the same libtpu, on JAX."""
    _, answer = compiled
    assert sum(cost.cycles * cost.trips for cost in answer.costs) == pytest.approx(0.55e6, rel=0.15)
    assert answer.memory.peak == pytest.approx(0.028 * 2**30, rel=0.10)


def test_arguments_take_what_is_said_of_them_and_their_memory_is_given_on(compiled: Any) -> None:
    lowered, answer = compiled
    told = sum(lowered.bytes_per_device(role) for role in (PARAMETER, OPTIMIZER, STATE, BATCH))
    # The chip pads small arrays to its tiles.
    assert told <= answer.memory.argument <= 1.25 * told
    assert answer.memory.alias >= lowered.bytes_of(PARAMETER) + lowered.bytes_of(OPTIMIZER) - 16
