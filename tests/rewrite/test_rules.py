"""The numbers that the rules choose, without training."""

from __future__ import annotations

import pytest

from colab_tpu_magic.rewrite.rules import RULES
from colab_tpu_magic.rewrite.rules.batch_size import auto_batch_size, round_up
from colab_tpu_magic.rewrite.rules.learning_rate import rate_factor
from colab_tpu_magic.rewrite.rules.steps_per_execution import FEWEST_TINY_DISPATCHES, auto_steps, most_steps

IDS = (
    "scope",
    "jit-compile",
    "text-layers",
    "dense-arrays",
    "dtypes",
    "batch-size",
    "static-shapes",
    "learning-rate",
    "loss-scaling",
    "batch-normalization",
    "precision",
    "normalise-on-device",
    "input-pipeline",
    "steps-per-execution",
)


def test_rules_stand_in_their_order_each_with_reason_source_and_switch():
    assert tuple(rule.id for rule in RULES) == IDS
    for rule in RULES:
        assert rule.title and rule.source
        assert rule.why.endswith(".") and rule.why.count(". ") <= 2
        assert rule.switch.startswith("--")


@pytest.mark.parametrize(
    ("user", "rows", "replicas", "chosen"),
    [
        (32, 60_000, 8, 1024),  # 128 rows on each of 8 replicas
        (32, 60_000, 1, 128),
        (32, 4_000, 8, 64),  # 50 steps an epoch at least
        (32, 4_000, 1, 64),
        (32, 300, 8, 32),  # a small data set keeps its batch
        (32, 300, 1, 32),
        (50, 300, 8, 56),  # rounded up to divide
        (1024, 60_000, 8, 1024),  # good already
        (2048, 60_000, 8, 2048),
        (1000, 60_000, 1, 1000),  # larger than 128 and a multiple of 8
        (1001, 60_000, 1, 1008),
        (32, None, 8, 32),  # nobody knows how many rows there are
        (5, 5, 8, 8),
    ],
)
def test_automatic_batch_size(user, rows, replicas, chosen):
    assert auto_batch_size(user, rows, replicas) == chosen


@pytest.mark.parametrize("user", [1, 7, 32, 50, 100, 512, 5000])
@pytest.mark.parametrize("rows", [1, 40, 999, 4_000, 60_000, 10**6])
@pytest.mark.parametrize("replicas", [1, 2, 8])
def test_automatic_batch_size_divides_never_shrinks_and_leaves_steps(user, rows, replicas):
    user = min(user, rows)
    chosen = auto_batch_size(user, rows, replicas)
    assert chosen % replicas == 0
    assert chosen >= user
    grown = chosen > round_up(user, replicas)
    assert not grown or rows // chosen >= 50 or user // replicas > 128


@pytest.mark.parametrize(
    ("growth", "sgd", "factor"), [(4, False, 2), (4, True, 4), (100, False, 4), (100, True, 8), (1, False, 1)]
)
def test_learning_rate_grows_by_root_or_line_up_to_its_cap(growth, sgd, factor):
    assert rate_factor(growth, sgd) == factor


@pytest.mark.parametrize(("steps", "chosen"), [(640, 32), (100, 10), (63, 3), (61, 1), (9, 1), (None, 1), (320, 32)])
def test_steps_in_one_dispatch_divide_the_epoch_and_leave_ten_dispatches(steps, chosen):
    assert auto_steps(steps) == chosen


@pytest.mark.parametrize(
    ("backend", "replicas", "steps", "chosen"),
    [
        ("tensorflow", 1, 640, 32),
        ("tensorflow", 8, 640, 32),
        ("jax", 1, 640, 16),
        ("jax", 1, 63, 3),
        ("jax", 8, 640, 1),
    ],
)
def test_jax_sends_few_steps_at_once_and_on_one_device_only(backend, replicas, steps, chosen):
    assert auto_steps(steps, most_steps(backend, replicas)) == chosen


@pytest.mark.parametrize(("steps", "chosen"), [(256, 64), (640, 64), (100, 25), (63, 9), (3, 1)])
def test_tensorflow_sends_up_to_64_tiny_steps_and_leaves_four_dispatches(steps, chosen):
    most = most_steps("tensorflow", 1, tiny=True)
    assert (most, most_steps("jax", 1, tiny=True)) == (64, 16)
    assert auto_steps(steps, most, FEWEST_TINY_DISPATCHES) == chosen
