"""Memory for batches is lent again when nobody sees it any more, and whoever waits for it is woken."""

from __future__ import annotations

import threading
import time

from colab_tpu_magic.rewrite.buffers import ALIGNMENT, Ring, places


def test_places_do_not_overlap():
    assert places([1, 64, 65, 3]) == ([0, 64, 128, 256], 259)
    assert places([]) == ([], 0)


def test_memory_is_lent_again_only_when_the_last_view_of_it_is_gone():
    ring = Ring(1)
    lent = ring.lend(1000)
    view = lent[100:200].view("float32").reshape(5, 5)[1:, 2]
    exported = memoryview(view)
    address = lent.ctypes.data
    del lent
    assert ring.lend(10) is None
    del view
    assert ring.lend(10) is None
    del exported
    again = ring.lend(1000)
    assert again is not None and again.ctypes.data == address


def test_a_ring_lends_no_more_than_its_pieces_until_it_grows():
    ring = Ring(2)
    kept = [ring.lend(8), ring.lend(8)]
    assert ring.lend(8) is None
    ring.grow()
    kept.append(ring.lend(8))
    assert len({one.ctypes.data for one in kept}) == 3


def test_a_ring_says_how_much_it_holds():
    ring = Ring(2)
    assert ring.size == 0
    ring.lend(100)
    assert 100 <= ring.size <= 100 + ALIGNMENT


def test_whoever_waits_for_memory_gets_it_when_an_array_goes_and_none_after_the_end():
    ring = Ring(1)
    lent, got = ring.lend(8), []

    def wait():
        ring.wait(lambda: ring.free)
        got.append(ring.lend(8) is not None)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.02)
    assert not got
    del lent
    waiting.join(10)
    assert got == [True]
    ring.close()
    assert not ring.free and ring.lend(8) is None


def test_none_of_several_that_wait_is_left_behind():
    ring, ended = Ring(1), threading.Event()
    lent = ring.lend(8)
    waiting = [threading.Thread(target=ring.wait, args=(ended.is_set,), daemon=True) for _ in range(6)]
    for thread in waiting:
        thread.start()
    until = time.monotonic() + 1
    while time.monotonic() < until:
        ring.look()
    ended.set()
    for thread in waiting:
        thread.join(5)
    assert lent is not None and not any(thread.is_alive() for thread in waiting)
