"""Names of slices stand for what the compiler is asked for."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from colab_tpu_magic.errors import OptionError
from colab_tpu_magic.planner.targets import SILICON, TARGETS, target

NAMED = "v2-8 v3-8 v4-8 v5e-1 v5e-4 v5e-8 v5p-8 v6e-1 v6e-4 v6e-8 v5e-16 v5e-256".split()


@pytest.mark.parametrize("name", NAMED)
def test_every_promised_slice_is_a_target(name: str) -> None:
    assert target(name).name == name


@pytest.mark.parametrize(
    ("name", "devices"),
    [("v2-8", 8), ("v4-8", 4), ("v5p-8", 4), ("v5e-1", 1), ("v5e-256", 256), ("v6e-8", 8), ("tpu7x-8", 8)],
)
def test_devices_are_what_jax_shows(name: str, devices: int) -> None:
    assert target(name).devices == devices


def test_a_slice_has_as_many_devices_as_the_rest_of_the_package_gives_it_replicas() -> None:
    from colab_tpu_magic.hardware.slices import parse_slice

    assert {name: one.devices for name, one in TARGETS.items()} == {
        name: parse_slice(name).replicas for name in TARGETS
    }


def test_names_are_read_as_users_write_them() -> None:
    assert target(" V5litepod-8 ") is target("v5e-8")


@pytest.mark.parametrize("name", ["v5e-3", "v9-8", "", "v5e", "gpu", "v2-1024"])
def test_an_unknown_target_lists_the_known(name: str) -> None:
    with pytest.raises(OptionError, match="one of v2-8, .*v6e-256, tpu7x-8") as raised:
        target(name)
    assert "%tpu_plan" in raised.value.type_next


def test_figures_are_those_of_one_device() -> None:
    v2, v4 = target("v2-8"), target("v4-8")
    assert (v2.peak_flops, v2.hbm_bytes_per_second) == (23e12, 358e9)
    assert v4.hbm_bytes == int(30.75 * 2**30)
    # The pages take off what the system needs from v5p's 96 GiB; the compiler leaves less to it.
    assert all(0.9 < one.hbm_bytes / one.chip.hbm_bytes_per_device < 1.01 for one in TARGETS.values())


def test_every_chip_has_a_clock_whose_peak_is_a_whole_number_of_matrix_units() -> None:
    """The operations in a cycle, from peak and clock, are within 3 % of a power of two."""
    from math import log2

    for name in SILICON:
        one = next(found for found in TARGETS.values() if found.chip.name == name)
        per_cycle = one.peak_flops / one.clock_hz
        assert abs(per_cycle / 2 ** round(log2(per_cycle)) - 1) < 0.03, name


def test_every_figure_has_a_source_and_the_call_is_json() -> None:
    for one in TARGETS.values():
        assert all(one.sources.values()) and len(one.sources) == 5
        json.dumps(one.topology_arguments)


def test_asking_for_targets_and_the_compiler_loads_no_framework() -> None:
    program = (
        "import sys, colab_tpu_magic.planner.compiler, colab_tpu_magic.planner.interconnect\n"
        "print(sorted({'jax', 'keras', 'tensorflow', 'numpy', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"
