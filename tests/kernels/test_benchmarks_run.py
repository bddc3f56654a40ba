"""Short runs of the benchmarks in a real kernel, so that they do not rot."""

import pytest

from benchmarks.cells import kernel_for, run_cell, value_of
from benchmarks.dashboard.contenders import NONE
from benchmarks.pipeline_turns import running_ways
from benchmarks.real_fit import Setting, fit_once

pytestmark = [pytest.mark.kernel, pytest.mark.slow]


@pytest.fixture(scope="module")
def measuring_kernel():
    with kernel_for(KERAS_BACKEND="jax", JAX_PLATFORMS="cpu") as kernel:
        run_cell(kernel, "from benchmarks.dashboard.measure import measure")
        yield kernel


@pytest.mark.parametrize("name", [NONE, "ours", "keras"])
def test_a_short_fit_is_measured_in_a_real_kernel(measuring_kernel, name):
    cell = run_cell(measuring_kernel, f"found = measure({name!r}, epochs=2, steps=20, step_seconds=0.001)")
    found = value_of(measuring_kernel, "found")
    assert set(found) == {
        f"{phase}_{clock}" for phase in ("start", "loop", "end") for clock in ("wall", "cpu", "helpers")
    }
    assert found["loop_wall"] >= 2 * 20 * 0.001
    assert 0 < found["loop_cpu"] < found["loop_wall"] * 2
    assert (cell.sent_bytes["loop"] > 500) == (name != NONE)
    assert (cell.sent_bytes["end"] > 10_000) == (name == "ours"), "the picture that stays counts at the end"


def test_memory_is_read_after_each_total(measuring_kernel):
    code = "from benchmarks.memory import growth; grown = growth('ours', (1000, 3000), True)"
    run_cell(measuring_kernel, code)
    first, last = value_of(measuring_kernel, "grown")
    assert set(first) == {"rss_bytes", "python_bytes", "batch_seconds"}
    assert 0 < first["batch_seconds"] < 0.1
    assert last["python_bytes"] < 2**20


def test_a_cell_that_raises_is_told(measuring_kernel):
    with pytest.raises(RuntimeError, match="KeyError: 'nobody else'"):
        run_cell(measuring_kernel, "measure('nobody else', 1, 1, 0.0)")


def test_a_real_fit_is_timed_after_its_first_epoch():
    found = fit_once(Setting("jax", 1), "dashboard", epochs=2)
    assert found["epochs"] == 2
    assert 0 < found["fastest_step_seconds"] <= found["step_seconds"] < 0.5
    assert 0 < found["step_cpu_seconds"] < 2.0
    assert 0 < found["loss"] < 1
    assert found["sent_bytes"] > 10_000


def test_images_are_read_in_every_way_that_is_compared(measuring_kernel, tmp_path):
    code = f"""
from pathlib import Path
from benchmarks.images import make_folder, rates_of, ways
make_folder(Path({str(tmp_path)!r}), 8)
rates = {{name: rates_of(make()) for name, make in ways({str(tmp_path)!r}).items()}}
"""
    run_cell(measuring_kernel, code)
    rates = value_of(measuring_kernel, "rates")
    assert len(rates) == 5
    assert all(one["wall"] > 0 and one["core"] > 0 for one in rates.values())


def test_every_pipeline_gives_batches_to_the_device(measuring_kernel):
    run_cell(measuring_kernel, "import numpy as np; from benchmarks.pipelines import held_batches, ways")
    run_cell(measuring_kernel, "x, y = np.ones((4096, 8), 'float32'), np.zeros(4096, 'int32')")
    run_cell(measuring_kernel, "found = {name: next(make(x, y)) for name, make in ways('jax').items()}")
    found = value_of(measuring_kernel, "found")
    assert set(found) == {"article", "keras", "tf.data", "grain", "ours", "memory"} and set(found.values()) == {1024}


def test_a_way_of_feeding_takes_turns_in_a_process_of_its_own():
    with running_ways("jax", ["memory", "ours"]) as running:
        for way in running.values():
            rate, worked = way.turn("28×28 uint8", 0.01)
            assert rate > 1000 and worked > 0
        assert 1 < running["ours"].turn("28×28 uint8", 0)[0] < 4
        processes = [way.process for way in running.values()]
    assert [process.poll() for process in processes] == [-9, -9]


def test_the_steps_of_a_tiny_model_are_timed_on_one_device(measuring_kernel):
    code = "from benchmarks.step_overhead import measured; steps = measured('jax-1', rounds=1, epochs=2, steps=64)"
    run_cell(measuring_kernel, code)
    found = value_of(measuring_kernel, "steps")
    assert set(found) == {"bare", "1", "4", "16", "64", "auto"}
    assert all(len(rates) == 1 and rates[0] > 1 for rates in found.values())
