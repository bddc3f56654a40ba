import re
from dataclasses import FrozenInstanceError

import pytest

from colab_tpu_magic.hardware.chips import CHIPS, GB, GIB, chip_for_device_kind, chip_for_pci


def test_the_table_holds_seven_generations_oldest_first():
    assert list(CHIPS) == ["v2", "v3", "v4", "v5e", "v5p", "v6e", "7x"]
    assert all(chip.name == name for name, chip in CHIPS.items())


@pytest.mark.parametrize(
    ("name", "cores", "devices", "mxus", "mxu_size", "hbm", "gb_per_s", "tflops"),
    [
        ("v2", 2, 2, 1, 128, 16 * GB, 716, 46),
        ("v3", 2, 2, 2, 128, 32 * GIB, 900, 123),
        ("v4", 2, 1, 4, 128, 32 * GIB, 1200, 275),
        ("v5e", 1, 1, 4, 128, 16 * GIB, 819, 197),
        ("v5p", 2, 1, 4, 128, 95 * GIB, 2765, 459),
        ("v6e", 1, 1, 2, 256, 32 * GIB, 1638, 918),
        ("7x", 2, 2, 2, 256, 192 * GIB, 7380, 2307),
    ],
)
def test_a_chip_has_the_published_figures(name, cores, devices, mxus, mxu_size, hbm, gb_per_s, tflops):
    chip = CHIPS[name]
    assert (chip.cores_per_chip, chip.devices_per_chip) == (cores, devices)
    assert (chip.mxus_per_core, chip.mxu_size) == (mxus, mxu_size)
    assert (chip.hbm_bytes_per_chip, chip.hbm_gb_per_s) == (hbm, gb_per_s)
    assert chip.peak_bf16_tflops == tflops


def test_a_v2_device_is_half_a_chip_and_a_v4_device_a_whole_one():
    v2, v4 = CHIPS["v2"], CHIPS["v4"]
    assert v2.hbm_bytes_per_device == 8 * GB
    assert (v2.peak_bf16_tflops_per_device, v2.hbm_gb_per_s_per_device) == (23.0, 358.0)
    assert (v2.cores_per_device, v4.cores_per_device) == (1, 2)
    assert v4.hbm_bytes_per_device == v4.hbm_bytes_per_chip
    assert v4.peak_bf16_tflops_per_device == 275.0
    assert (v2.mxus_per_chip, v4.mxus_per_chip) == (2, 8)


def test_the_peak_rate_agrees_with_the_matrix_units_at_a_plausible_clock():
    for chip in CHIPS.values():
        operations_per_cycle = 2 * chip.mxus_per_chip * chip.mxu_size**2
        clock_ghz = chip.peak_bf16_tflops * 1e12 / operations_per_cycle / 1e9
        assert 0.6 < clock_ghz < 4.5, chip.name


def test_every_figure_has_a_source_and_a_month():
    for chip in CHIPS.values():
        assert chip.source
        assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", chip.as_of)


def test_a_chip_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        CHIPS["v2"].mxu_size = 256


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("TPU v2", "v2"),
        ("TPU v3", "v3"),
        ("TPU v4", "v4"),
        ("TPU v5 lite", "v5e"),
        ("TPU v5e", "v5e"),
        ("TPU v5", "v5p"),
        ("TPU v5p", "v5p"),
        ("TPU v6 lite", "v6e"),
        ("TPU v6e", "v6e"),
        ("TPU7x", "7x"),
        ("tpu V5 LITE", "v5e"),
    ],
)
def test_jax_device_kinds_name_their_chip(kind, name):
    assert chip_for_device_kind(kind) is CHIPS[name]


@pytest.mark.parametrize("kind", ["", "cpu", "Tesla T4", "TPU v4 lite", "TPU8i"])
def test_a_device_kind_that_is_not_in_the_table_is_none(kind):
    assert chip_for_device_kind(kind) is None


def test_v2_and_v3_share_a_device_id_and_differ_in_the_subsystem():
    assert chip_for_pci("0x0027", "0x004e") is CHIPS["v2"]
    assert chip_for_pci("0x0027", "0x004f") is CHIPS["v3"]
    assert chip_for_pci("0x0027", "0x0000") is None


@pytest.mark.parametrize("name", ["v4", "v5e", "v5p", "v6e", "7x"])
def test_later_chips_are_told_by_their_device_id_alone(name):
    assert chip_for_pci(CHIPS[name].pci_device_id, "0x1234") is CHIPS[name]
    assert chip_for_pci(CHIPS[name].pci_device_id.upper().replace("X", "x"), "") is CHIPS[name]


def test_googles_network_card_is_no_tpu():
    assert chip_for_pci("0x0042", "0x0058") is None


def test_titles_are_written_as_google_writes_them():
    assert (CHIPS["v5e"].title, CHIPS["7x"].title) == ("TPU v5e", "TPU7x")
