"""Plans of small models as the real TPU compiler makes them, on both backends."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import layers

import colab_tpu_magic as tpu
from colab_tpu_magic.backends.variables import live_variables
from colab_tpu_magic.planner import sweep as sweep_module
from colab_tpu_magic.planner.compiler import CompilerError
from colab_tpu_magic.planner.plan import ESTIMATE, Plan, Progress
from colab_tpu_magic.planner.row import PENDING

from .test_planning import data, small

WITH_COMPILER = [
    pytest.mark.compiler,
    pytest.mark.skipif(not os.environ.get("TPU_MAGIC_COMPILER_PYTHON"), reason="no compiler here"),
    pytest.mark.timeout(280),
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for answers, for the tests of this file."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def seen() -> list[Progress]:
    """What the first plan told on its way."""
    return []


@pytest.fixture(scope="module")
def planned(cache: Path, seen: list[Progress]) -> Plan:
    """A small model at two batch sizes on v2-8."""
    return tpu.plan(small(), *data(50 * 512), target="v2-8", batch_sizes=[64, 512], progress=seen.append)


def marked(test: Any) -> Any:
    for mark in WITH_COMPILER:
        test = mark(test)
    return test


@marked
def test_a_plan_has_a_row_for_each_size_with_all_its_figures(planned: Plan) -> None:
    assert [(row.target, row.batch_size, row.status, row.cached) for row in planned.rows] == [
        ("v2-8", 64, "fits", False),
        ("v2-8", 512, "fits", False),
    ]
    model = small()
    model.build((None, 32))
    values = sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)
    for row in planned.rows:
        assert row.flops == pytest.approx(row.batch_size * 2 * (2 * 32 * 130 + 3 * 130 * 10))
        assert row.memory is not None
        assert 4 * values <= row.memory.parameters < 40 * 4 * values  # the compiler pads small weights to tiles
        assert row.memory.optimizer == pytest.approx(2 * row.memory.parameters, rel=0.01)
        assert row.needed_bytes == row.memory.needed < row.allowed_bytes
        assert 0 < row.step_seconds[0] < row.step_seconds[1] < 1e-3
        assert row.collective_seconds > 0 and "all-reduce" in row.collective_model
        assert any("all-reduce" in kind for kind in row.unestimated)
        assert 0 < row.mxu_utilisation < 0.5 and row.hbm_bytes_moved > 0
        total = sum(layer.total for layer in row.layers) + row.optimizer_share + row.loss_share + row.unnamed_share
        assert total == pytest.approx(1.0)
        assert {layer.name for layer in row.layers} <= {"wide", "drop", "logits"}
        assert row.unnamed_share < 0.15
    small_batch, large_batch = planned.rows
    assert large_batch.speed > 2 * small_batch.speed


@marked
def test_a_plan_recommends_and_tells_in_a_sentence(planned: Plan) -> None:
    assert planned.recommended == tpu.FitOptions(batch_size=512)
    assert planned.verdict.startswith("Fits v2-8 at batch 512; best 512: about ")
    assert planned.compiler.startswith("jax 0.10.2, libtpu 0.0.42")
    assert planned.complete and planned.host is not None and planned.host.examples_per_second > 1000
    text = planned.table()
    assert text.splitlines()[0] == planned.verdict and ESTIMATE in text and "128 instead of 130" not in planned.verdict
    (curve,) = planned.curves
    assert [(point.batch_size, point.compiled) for point in curve.points] == [
        (64, True),
        (128, False),
        (256, False),
        (512, True),
    ]
    assert list(planned.to_dataframe()["batch_size"]) == [64, 512]


@marked
def test_rows_are_told_as_they_come(planned: Plan, seen: list[Progress]) -> None:
    statuses = [tuple(row.status for row in now.rows) for now in seen]
    assert (PENDING,) in statuses or (PENDING, PENDING) in statuses
    assert any("fits" in now and PENDING in now for now in statuses) or ("fits", "fits") in statuses
    assert any(now.stage.startswith("bfloat16: compiling") for now in seen)
    assert all(now.elapsed >= before.elapsed for before, now in zip(seen, seen[1:]))


@marked
def test_the_same_plan_again_compiles_nothing_and_changes_nothing(planned: Plan) -> None:
    model = small()
    before = [keras.ops.convert_to_numpy(variable.value) for variable in live_variables(model)]
    attributes = {id(layer): dict(vars(layer)) for layer in model.layers}
    stages: list[str] = []
    again = tpu.plan(
        model, *data(50 * 512), target="v2-8", batch_sizes=[64, 512], progress=lambda now: stages.append(now.stage)
    )
    assert not any("compiling" in stage for stage in stages)
    assert all(row.cached for row in again.rows)
    assert [row.step_seconds for row in again.rows] == [row.step_seconds for row in planned.rows]
    assert again.advice == planned.advice and again.verdict == planned.verdict
    after = [keras.ops.convert_to_numpy(variable.value) for variable in live_variables(model)]
    assert len(before) == len(after) and all(map(np.array_equal, before, after))
    assert attributes == {id(layer): dict(vars(layer)) for layer in model.layers}


@marked
def test_without_a_compiler_what_is_known_is_told_and_the_rest_refused(
    planned: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TPU_MAGIC_COMPILER_PYTHON", "/nowhere/python")
    known = tpu.plan(small(), *data(), target="v2-8", batch_sizes=[64, 4096], advise=False, host=False)
    assert [row.status for row in known.rows] == ["fits", "refused"]
    assert "TPU_MAGIC_COMPILER_PYTHON" in known.rows[1].reason
    stages: list[str] = []
    with pytest.raises(CompilerError, match="TPU_MAGIC_COMPILER_PYTHON"):
        tpu.plan(
            small(), *data(), target="v2-8", batch_sizes=[4096 + 64 * n for n in range(9)],
            progress=lambda now: stages.append(now.stage),
        )  # fmt: skip
    # Once it is known that there is none, no further step is read for it.
    assert len({stage for stage in stages if "compiling" in stage}) <= 2


@marked
def test_what_takes_long_is_not_begun_without_a_word(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_module, "FREE_SECONDS", 0.0)
    found = tpu.plan(small(name="other"), *data(), target="v2-8", batch_sizes=[72, 80], host=False)
    assert found.rows == () and not found.complete and found.verdict == "Nothing was compiled."
    assert "--yes" in found.problems[0] and found.recommended == tpu.FitOptions()


@marked
def test_an_interrupt_gives_the_rows_so_far_and_leaves_no_process(planned: Plan) -> None:
    from tests.planner.conftest import wait_until, workers

    def interrupt(now: Progress) -> None:
        if any(row.status == PENDING for row in now.rows):
            raise KeyboardInterrupt

    begun = time.perf_counter()
    found = tpu.plan(small(), *data(), target="v2-8", batch_sizes=[64, 1024], progress=interrupt)
    assert [(row.batch_size, row.status) for row in found.rows] == [(64, "fits")]
    assert not found.complete and found.problems[0].startswith("Interrupted")
    assert time.perf_counter() - begun < 20 and wait_until(lambda: not workers())


@marked
def test_a_compile_that_takes_too_long_is_a_row_and_the_plan_goes_on(planned: Plan) -> None:
    found = tpu.plan(small(), *data(), target="v2-8", batch_sizes=[64, 2048], seconds=0.05, host=False)
    assert [(row.batch_size, row.status) for row in found.rows] == [(64, "fits"), (2048, "refused")]
    assert found.rows[1].reason.startswith("Not compiled within")
    assert found.recommended.batch_size == 64


@marked
def test_sizes_that_cannot_be_are_rows_of_their_own(planned: Plan) -> None:
    found = tpu.plan(small(), *data(), target="v2-8", batch_sizes=[60, 64], advise=False, host=False)
    assert [(row.batch_size, row.status) for row in found.rows] == [(60, "refused"), (64, "fits")]
    assert "does not divide over 8 devices" in found.rows[0].reason


@marked
@pytest.mark.slow
@pytest.mark.only("jax")
def test_the_border_of_the_memory_is_found_and_one_step_more_is_refused(cache: Path) -> None:
    model = keras.Sequential([keras.Input((4096,)), layers.Dense(4096, name="a"), layers.Dense(1, name="b")])
    model.compile("sgd", "mse")
    x, y = keras.KerasTensor((None, 4096), "float32"), keras.KerasTensor((None, 1), "float32")
    found = tpu.plan(model, x, y, target="v2-8", batch_sizes=[4096, 10**8], advise=False, yes=True)
    (curve,) = found.curves
    assert curve.largest_batch is not None and curve.first_refused is not None
    assert 0 < curve.first_refused - curve.largest_batch <= curve.largest_batch / 32
    status = {row.batch_size: row.status for row in found.rows}
    assert status[curve.largest_batch] == "fits" and status[curve.first_refused] == "out-of-memory"
    assert found.recommended.batch_size == 4096  # not one of the sizes that were only tried
    assert found.verdict.startswith(f"Fits v2-8 up to batch {curve.largest_batch:,}; best 4,096")
