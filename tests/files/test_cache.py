"""Decoded images stay in memory only where all of them fit into the share."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from colab_tpu_magic.files import cache
from colab_tpu_magic.files.cache import DecodedCache, cache_for

MIB = 1 << 20
SHAPE = (512, 512, 4)


@pytest.fixture
def free(monkeypatch):
    """Let a number of MiB be free; every other cache is gone."""
    gc.collect()
    monkeypatch.setattr(cache, "_caches", type(cache._caches)())
    return lambda mib: monkeypatch.setattr(cache, "available_bytes", lambda: None if mib is None else mib * MIB)


def test_images_come_back_as_they_were_put():
    kept = DecodedCache(4, (2, 2, 1))
    pixels = np.arange(8, dtype="uint8").reshape(2, 2, 2, 1)
    kept.put(np.array([3, 1]), pixels)
    assert kept.has(np.array([1, 3])) and not kept.has(np.array([0, 1]))
    np.testing.assert_array_equal(kept.take(np.array([1, 3, 1])), pixels[[1, 0, 1]])
    assert (kept.bytes, kept.filled_bytes) == (16, 8)


def test_a_quarter_of_the_free_memory_may_be_taken(free):
    free(16)
    kept, said = cache_for(4, SHAPE)
    assert kept is not None and kept.bytes == 4 * MIB
    assert said == "cached as they are decoded: 4 MiB decoded, 25 % of the 16 MiB free"


def test_more_than_a_quarter_is_not_taken_and_it_is_said(free):
    free(15)
    kept, said = cache_for(4, SHAPE)
    assert kept is None
    assert said == "not cached: 4 MiB decoded, 27 % of the 15 MiB free, and at most 25 % is taken"


def test_less_than_a_mib_is_told_in_kib(free):
    free(16)
    assert cache_for(2, (32, 32, 3))[1] == "cached as they are decoded: 6 KiB decoded, 0.037 % of the 16 MiB free"
    assert (
        cache_for(2, (8, 8, 3))[1]
        == "cached as they are decoded: 384 bytes decoded, less than 0.01 % of the 16 MiB free"
    )


def test_several_folders_stay_within_the_share_together(free):
    free(16)
    first, _ = cache_for(3, SHAPE)
    second, said = cache_for(2, SHAPE)
    assert first is not None and second is None
    assert "beside 3 MiB of other folders" in said
    # What the first has taken by now is no longer free, and counts once.
    first.put(np.arange(3), np.zeros((3, *SHAPE), "uint8"))
    free(13)
    assert cache_for(1, SHAPE)[0] is not None


def test_a_folder_that_is_gone_leaves_its_room(free):
    free(16)
    first, _ = cache_for(3, SHAPE)
    del first
    gc.collect()
    assert cache_for(4, SHAPE)[0] is not None


def test_nothing_is_kept_where_nobody_knows_what_is_free(free):
    free(None)
    assert cache_for(1, SHAPE) == (None, "not cached: this system does not tell how much memory is free")
