"""Sizes of memory are told with three digits in the unit that suits."""

from __future__ import annotations

from colab_tpu_magic.sizes import bytes_text


def test_sizes_are_told_in_the_unit_that_suits():
    sizes = (0, 999, 1000, 1023 * 1024, 2**20, 3_000 * 2**20, 16 * 2**30)
    assert list(map(bytes_text, sizes)) == [
        "0 bytes", "999 bytes", "0.977 KiB", "0.999 MiB", "1 MiB", "2.93 GiB", "16 GiB",
    ]  # fmt: skip
