"""Numbers whose bytes lie in another order come in this machine's, large arrays batch by batch."""

from __future__ import annotations

import numpy as np
import pytest

from colab_tpu_magic.rewrite.arrays import Rows
from colab_tpu_magic.rewrite.gather import Gathered
from colab_tpu_magic.rewrite.sources import array_source


@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8", ">i2", ">i4", ">u2", ">c8"])
@pytest.mark.parametrize("rows", [6, 60_000])
def test_rows_and_slices_hold_the_numbers_in_the_machines_own_order(dtype, rows):
    x = (np.arange(rows * 10) % 100).reshape(rows, 10).astype(dtype)
    source = array_source(x)
    (leaf,) = source.tree
    assert isinstance(leaf, Rows) is (x.nbytes > 2**20) and leaf.dtype.isnative
    for batch in (next(Gathered(source, iter([np.array([5, 0])])))[0], source.take(slice(0, 6, 5))[0][::-1]):
        assert batch.dtype == x.dtype.newbyteorder("=") and batch.dtype.isnative
        np.testing.assert_array_equal(batch, x[[5, 0]])
    assert source.conversions[0].before == f"x: bytes in another order ({dtype})"
    assert source.conversions[0].by_hand == f'x = x.astype("{x.dtype.name}")'
