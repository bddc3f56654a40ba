"""What an answer of the compiler means, on answers that are made here."""

from __future__ import annotations

import pytest

from colab_tpu_magic.planner.interconnect import collective_time
from colab_tpu_magic.planner.layers import blocks, shares
from colab_tpu_magic.planner.results import Cost, Refused, Unestimated
from colab_tpu_magic.planner.row import OUT_OF_MEMORY, REFUSED, LayerShare
from colab_tpu_magic.planner.rows import full_memory_rate_seconds, memory_parts, row_of, size_text, unestimated_kinds
from colab_tpu_magic.planner.targets import target

from .plans import COSTS, GIB, compiled, lowered

V2 = target("v2-8")


def test_the_cycles_are_shared_out_among_layers_optimizer_loss_and_rest() -> None:
    found = shares(COSTS, ["a", "b"], "adam")
    assert found.layers == (LayerShare("a", 0.4, 0.3), LayerShare("b", 0.1, 0.0))  # the loop runs ten times
    assert found.optimizer == pytest.approx(0.1)
    assert found.loss == pytest.approx(0.05)
    assert found.unnamed == pytest.approx(0.05)
    assert found.named + found.unnamed == pytest.approx(1.0)


def test_nothing_estimated_is_no_share_of_anything() -> None:
    assert shares([], ["a"]).layers == () and shares([], ["a"]).named == 0


def test_blocks_hold_what_is_inside_them() -> None:
    layers = [LayerShare("enc/dense", 0.2, 0.1), LayerShare("head", 0.35, 0.0), LayerShare("enc/norm", 0.1, 0.1)]
    assert [(one.name, pytest.approx(one.total)) for one in blocks(layers)] == [("enc", 0.5), ("head", 0.35)]


def test_the_time_of_a_step_is_cycles_by_the_clock_and_what_the_models_add() -> None:
    row = row_of(lowered(), compiled(), V2)
    device = 1000 / 0.70e9
    sent = collective_time("all-reduce", 1_000_000, 2.0, V2)
    assert row.device_seconds == pytest.approx(device)
    assert row.collective_seconds == pytest.approx(sent.seconds)
    assert row.collective_model == f"all-reduce: {sent.model}"
    slow = device + sent.seconds + 300_000 / V2.hbm_bytes_per_second
    assert row.step_seconds == (pytest.approx(device), pytest.approx(slow))
    assert row.examples_per_second == (pytest.approx(1024 / slow), pytest.approx(1024 / device))
    assert row.speed == row.examples_per_second[0]


def test_utilisation_and_traffic_are_of_one_device() -> None:
    row = row_of(lowered(), compiled(), V2)
    assert row.mxu_utilisation == pytest.approx(1e9 / 8 / (V2.peak_flops * 1000 / 0.70e9))
    assert row.hbm_bytes_moved == 4096 + 4096 + 640 + 5_000 + 2_000_000 + 300_000


def test_at_memorys_whole_rate_what_multiplies_nothing_takes_as_long_as_its_bytes() -> None:
    clock, rate = V2.clock_hz, V2.hbm_bytes_per_second
    costs = (
        Cost("a", "fusion", 10_000, 2.0, 1_000),  # 14 µs, its bytes 3 ns
        Cost("b", "fusion", 10_000, 1.0, 0),  # nothing moves: as estimated
        Cost("c", "fusion", 10_000, 1.0, 1_000, True),  # the MXU's time
        Cost("d", "fusion", 1, 1.0, 10**9),  # never longer than estimated
    )
    assert full_memory_rate_seconds(costs, V2) == pytest.approx(2 * 1_000 / rate + 20_001 / clock)
    row = row_of(lowered(), compiled(costs=costs, unestimated=(Unestimated("sort", "", 1.0, 100, 3_000),)), V2)
    assert row.full_memory_rate_seconds == pytest.approx(2 * 1_000 / rate + 20_001 / clock)
    assert row.device_seconds == pytest.approx(40_001 / clock)


def test_what_holds_a_step_up_is_the_mxu_or_else_memory_at_its_whole_rate() -> None:
    assert row_of(lowered(), compiled(unestimated=()), V2).bound == "MXU"
    assert row_of(lowered(flops=1.0), compiled(unestimated=()), V2).bound == "neither"
    # By its estimate memory gives a sixth of its rate; at the whole of it, nothing else takes time.
    streams = compiled(costs=(Cost("", "fusion", 700_000, 1.0, 60_000_000),), unestimated=())
    row = row_of(lowered(flops=1.0), streams, V2)
    assert row.hbm_bytes_moved / V2.hbm_bytes_per_second < row.device_seconds / 5
    assert row.bound == "HBM"
    assert row_of(lowered(flops=1e11), streams, V2).bound == "MXU"


def test_memory_is_split_by_role_and_adds_up_to_the_peak_and_the_program() -> None:
    parts = memory_parts(lowered(), compiled())
    # 1,000 + 2,000 + 4 + 128 rows of 80 bytes = 13,244, which the compiler says are 13,000.
    factor = 13_000 / 13_244
    assert (parts.parameters, parts.optimizer, parts.state) == (round(1000 * factor), round(2000 * factor), 4)
    assert parts.batch == round(10_240 * factor)
    assert parts.code == 7_000
    assert parts.needed == 67_000
    assert sum(size for _, size in parts.parts()) == parts.needed


def test_a_row_tells_where_it_comes_from() -> None:
    row = row_of(lowered(remarks=("Attention is plain.",)), compiled(), V2)
    assert (row.target, row.batch_size, row.devices, row.status) == ("v2-8", 1024, 8, "fits")
    assert (row.cached, row.compile_seconds) == (False, 7.5)
    assert row.notes == ("A loop runs ten times.", "Attention is plain.")
    assert row.unestimated == ("2 all-reduce (976.6 KiB)", "1 sort (146.5 KiB)")
    known = row_of(lowered(), compiled(), V2, cached=True)
    assert (known.cached, known.compile_seconds) == (True, 0.0)


def test_what_could_not_be_read_still_fits_and_has_no_times() -> None:
    row = row_of(lowered(), compiled(costs=(), unestimated=(), as_text_failed=True, text_error="it crashed"), V2)
    assert row.fits and row.memory is not None and row.flops == 1e9
    assert row.step_seconds == (0.0, 0.0) and row.speed == 0.0 and row.bound == ""
    assert "it crashed" in row.notes[0]


def test_a_step_that_does_not_fit_tells_needed_and_allowed() -> None:
    refused = Refused("out-of-memory", "Does not fit: 20 of 15.75.", 20 * GIB, 16 * GIB)
    row = row_of(lowered(), refused, V2)
    assert (row.status, row.needed_bytes, row.allowed_bytes) == (OUT_OF_MEMORY, 20 * GIB, 16 * GIB)
    assert row.reason == "Does not fit: 20 of 15.75." and row.memory is None


def test_a_limit_of_this_machine_says_nothing_about_the_tpus_memory() -> None:
    row = row_of(lowered(), Refused("memory", "The compiler needs more than 1.0 GiB.", 2 * GIB, GIB), V2)
    assert (row.status, row.needed_bytes, row.allowed_bytes) == (REFUSED, 0, V2.hbm_bytes)


def test_instructions_without_an_estimate_are_added_up_by_kind() -> None:
    many = [Unestimated("all-reduce", f"grad{number}", 1.0, 2**20) for number in range(197)]
    assert unestimated_kinds((*many, Unestimated("sort", "", 1.0, 10))) == (
        "197 all-reduce (197.0 MiB)",
        "1 sort (10 B)",
    )


def test_sizes_are_told_in_the_unit_that_suits() -> None:
    assert [size_text(size) for size in (0, 1023, 1024, 5 * 2**20, 1.5 * GIB)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "5.0 MiB",
        "1.50 GiB",
    ]
