"""The model of collectives gives the figures that can be worked out by hand."""

from __future__ import annotations

import pytest

from colab_tpu_magic.planner.ici import ICI
from colab_tpu_magic.planner.interconnect import collective_time, collective_times, hops, links_used
from colab_tpu_magic.planner.results import Unestimated
from colab_tpu_magic.planner.targets import SILICON, TARGETS, target

MB = 10**6


@pytest.mark.parametrize(
    ("name", "links", "far"),
    [
        ("v5e-1", 0, 0),
        ("v5e-4", 2, 2),  # 2 × 2: each chip has two neighbours
        ("v5e-8", 2, 4),
        ("v5e-128", 3, 15),  # 8 × 16: a ring along one axis
        ("v5e-256", 4, 16),  # 16 × 16: rings along both
        ("v4-8", 2, 2),
        ("v4-16", 3, 3),
        ("v4-32", 3, 5),  # 2 × 2 × 4: no ring below a whole cube
        ("v5p-64", 3, 7),
        ("v4-128", 6, 6),  # 4 × 4 × 4: rings along all three
        ("v2-512", 4, 16),
        ("v3-512", 2, 30),
    ],
)
def test_links_and_hops_follow_from_the_shape_of_the_slice(name: str, links: int, far: int) -> None:
    assert (links_used(target(name)), hops(target(name))) == (links, far)


def test_an_all_reduce_sends_three_halves_of_its_payload_over_four_chips() -> None:
    """2·(4−1)/4 · 100 MB ÷ (2 links · 50 GB/s) = 1.5 ms."""
    time = collective_time("all-reduce", 100 * MB, 1, target("v5e-4"))
    assert time.transfer_seconds == pytest.approx(1.5e-3)
    assert time.latency_seconds == pytest.approx(4e-6) and time.local_seconds == 0
    assert time.seconds == pytest.approx(1.504e-3)
    assert "2 links × 50 GB/s" in time.model and "v5e" in time.model


def test_two_devices_of_a_chip_add_up_through_its_memory() -> None:
    """ResNet50's 52 MB of gradients on v2-8: 0.63 ms on the links, 0.29 ms through memory at 358 GB/s."""
    time = collective_time("all-reduce", 52 * MB, 1, target("v2-8"))
    assert time.transfer_seconds == pytest.approx(1.5 * 52 * MB / (2 * 62e9))
    assert time.local_seconds == pytest.approx(2 * 52 * MB / 358e9)


def test_one_chip_sends_nothing() -> None:
    time = collective_time("all-reduce", 100 * MB, 5, target("v5e-1"))
    assert time.seconds == 0 and time.model == "One chip: nothing is sent between chips."


def test_many_small_ones_take_their_hops_each() -> None:
    one, many = (collective_time("all-reduce", MB, runs, target("v5e-8")) for runs in (1, 100))
    assert many.transfer_seconds == one.transfer_seconds
    assert many.latency_seconds == pytest.approx(100 * one.latency_seconds)


def test_half_of_an_all_reduce_is_a_reduce_scatter() -> None:
    whole, half = (collective_time(kind, MB, 1, target("v6e-8")) for kind in ("all-reduce", "reduce-scatter"))
    assert half.seconds == pytest.approx(whole.seconds / 2)


def test_the_collectives_of_a_step_are_summed_by_kind() -> None:
    listed = (
        Unestimated("all-reduce", "a", 1, 3 * MB),
        Unestimated("sort", "s", 1, 9 * MB),
        Unestimated("all-reduce", "b", 2, MB),
        Unestimated("all-gather", "c", 1, MB),
    )
    times = collective_times(listed, target("v5e-4"))
    assert [(one.opcode, one.payload_bytes, one.runs) for one in times] == [
        ("all-reduce", 4 * MB, 3),
        ("all-gather", MB, 1),
    ]


def test_what_is_no_collective_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="'sort' is no collective"):
        collective_time("sort", 1, 1, target("v5e-4"))


def test_every_generation_has_links_with_a_source() -> None:
    assert set(ICI) == set(SILICON)
    assert all(one.source and one.link_bytes_per_second > 0 and len(TARGETS) for one in ICI.values())
    assert all(len(one.grid) == one.ici.axes for one in TARGETS.values())
