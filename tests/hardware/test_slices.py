import pytest

from colab_tpu_magic.errors import OptionError
from colab_tpu_magic.hardware.chips import CHIPS
from colab_tpu_magic.hardware.slices import BATCH_SOURCE, Slice, parse_replicas, parse_slice, slice_for


@pytest.mark.parametrize(
    ("name", "chips", "replicas"),
    [
        ("v2-8", 4, 8),
        ("v3-8", 4, 8),
        ("v3-32", 16, 32),
        ("v4-8", 4, 4),
        ("v5e-1", 1, 1),
        ("v5e-8", 8, 8),
        ("v5p-8", 4, 4),
        ("v6e-1", 1, 1),
        ("v6e-8", 8, 8),
        ("tpu7x-8", 4, 8),
    ],
)
def test_a_slice_has_chips_and_replicas_as_google_counts_them(name, chips, replicas):
    found = parse_slice(name)
    assert (found.name, found.chips, found.replicas) == (name, chips, replicas)
    assert str(found) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("V2-8", "v2-8"),
        (" v5e-4 ", "v5e-4"),
        ("v5litepod-4", "v5e-4"),
        ("v5lite-4", "v5e-4"),
        ("V5LitePod-16", "v5e-16"),
        ("TPU7x-8", "tpu7x-8"),
        ("7x-8", "tpu7x-8"),
        ("v7x-8", "tpu7x-8"),
    ],
)
def test_other_spellings_are_made_canonical(text, name):
    assert parse_slice(text).name == name


@pytest.mark.parametrize(
    ("text", "what", "type_next"),
    [
        ("v9-8", "names no TPU that is known", "%tpu_connect --simulate v2-8"),
        ("v5e", "has no count", "%tpu_connect --simulate v5e-1"),
        ("v2", "has no count", "%tpu_connect --simulate v2-2"),
        ("eight", "is not a slice name", "%tpu_connect --simulate v2-8"),
        ("", "is not a slice name", "%tpu_connect --simulate v2-8"),
        ("v2-0", "has no chip in it", "%tpu_connect --simulate v2-2"),
        ("v2-3", "is not a whole number of chips: a v2 chip has 2 TensorCores", "%tpu_connect --simulate v2-2"),
        ("v4-9", "is not a whole number of chips", "%tpu_connect --simulate v4-8"),
        ("v5e--1", "is not a slice name", "%tpu_connect --simulate v2-8"),
        ("v5e-٤", "is not a slice name", "%tpu_connect --simulate v2-8"),
        ("v2-8; rm -rf /", "is not a slice name", "%tpu_connect --simulate v2-8"),
    ],
)
def test_a_name_that_is_no_slice_says_what_to_type(text, what, type_next):
    with pytest.raises(OptionError) as caught:
        parse_slice(text)
    assert what in caught.value.what
    assert repr(text) in caught.value.what
    assert caught.value.expected.startswith("a chip type and a count, such as v2-8")
    assert caught.value.type_next == type_next


def test_the_line_to_type_instead_works():
    for text in ("v5e", "v2", "v2-3", "v4-9", "nonsense"):
        with pytest.raises(OptionError) as caught:
            parse_slice(text)
        assert parse_slice(caught.value.type_next.split()[-1]).replicas >= 1


@pytest.mark.parametrize("name", ["v2-8", "v3-8", "v4-8", "v5e-1", "v5e-8", "v5p-8", "v6e-8", "tpu7x-8"])
def test_a_slice_is_found_again_from_its_devices(name):
    known = parse_slice(name)
    assert slice_for(known.chip, known.replicas) == known


def test_half_a_chip_counts_as_one_chip():
    assert slice_for(CHIPS["v2"], 1).name == "v2-2"


def test_a_slice_without_devices_is_refused():
    with pytest.raises(ValueError, match="one device at least, not 0"):
        slice_for(CHIPS["v2"], 0)


def test_the_recommended_batch_is_the_articles_1024_on_v2_8_and_128_on_colab():
    assert parse_slice("v2-8").recommended_per_replica_batch == 128
    assert parse_slice("v2-8").recommended_global_batch == 1024
    assert parse_slice("v5e-1").recommended_global_batch == 128
    assert parse_slice("v4-8").recommended_global_batch == 512
    assert parse_slice("v4-8").recommendation_source == BATCH_SOURCE
    assert "8 × 128" in BATCH_SOURCE


@pytest.mark.parametrize(("simulate", "replicas"), [(1, 1), (256, 256), ("3", 3), (" 8 ", 8)])
def test_a_number_of_replicas_needs_no_slice(simulate, replicas):
    assert parse_replicas(simulate) == (None, replicas)


def test_a_slice_to_simulate_brings_its_replicas():
    assert parse_replicas("V5litepod-4") == (Slice(CHIPS["v5e"], 4), 4)
    assert parse_replicas("v4-8")[1] == 4


@pytest.mark.parametrize("simulate", [0, -1, 257, True, False, "0", "-2", "+4", "257", "2.5", "1.", "99999999"])
def test_a_number_of_replicas_outside_1_to_256_is_refused(simulate):
    with pytest.raises(OptionError) as caught:
        parse_replicas(simulate)
    assert caught.value.what == f"--simulate {simulate} cannot be used."
    assert caught.value.expected == "a slice such as v2-8, or a whole number of replicas from 1 to 256."
    assert caught.value.type_next == "%tpu_connect --simulate 8"


def test_a_slice_with_more_than_256_replicas_is_not_simulated():
    with pytest.raises(OptionError, match=r"--simulate v2-512 \(512 replicas\) cannot be used"):
        parse_replicas("v2-512")
    assert parse_replicas("v4-512")[1] == 256
