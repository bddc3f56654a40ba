"""How long the device waited for data."""

import threading
import time

import pytest

from colab_tpu_magic.rewrite.feed import prefetched
from colab_tpu_magic.rewrite.waits import Waits


def handed(waits, times, monkeypatch):
    """Hand a batch over at each of these times."""
    clock = iter(times)
    monkeypatch.setattr("colab_tpu_magic.rewrite.waits.time.perf_counter", lambda: next(clock))
    list(waits.handed_over(iter(range(len(times)))))


def test_a_batch_that_was_there_before_the_step_costs_no_waiting(monkeypatch):
    waits = Waits()
    handed(waits, [1.0], monkeypatch)
    assert waits.of_steps(began=2.0, ended=3.0, steps=1) == 0.0


def test_the_step_waits_until_its_batch_is_handed_over(monkeypatch):
    waits = Waits()
    handed(waits, [2.75], monkeypatch)
    assert waits.of_steps(began=2.0, ended=3.0, steps=1) == pytest.approx(0.75)
    assert waits.seconds == pytest.approx(0.75)


def test_several_steps_of_one_dispatch_share_one_computing_time(monkeypatch):
    waits = Waits()
    # Batches come at 1, 2 and 3 s, each step computes 0.25 s: the device idles 1 + 0.75 + 0.75 s.
    handed(waits, [1.0, 2.0, 3.0], monkeypatch)
    assert waits.of_steps(began=0.0, ended=3.25, steps=3) == pytest.approx(2.5)


def test_steps_that_follow_each_other_without_a_gap_wait_only_for_the_first(monkeypatch):
    waits = Waits()
    handed(waits, [1.0, 1.0, 1.0, 1.0], monkeypatch)
    assert waits.of_steps(began=0.0, ended=3.0, steps=4) == pytest.approx(1.0)


def test_batches_that_were_never_handed_over_are_not_guessed():
    assert Waits().of_steps(0.0, 1.0, 1) == 0.0


def test_a_new_pass_forgets_what_was_handed_over_in_the_one_before(monkeypatch):
    waits = Waits()
    handed(waits, [1.0, 2.0], monkeypatch)
    handed(waits, [9.0], monkeypatch)
    assert waits.of_steps(began=8.5, ended=10.0, steps=1) == pytest.approx(0.5)


def test_only_the_time_after_the_device_has_ended_its_step_counts():
    release = threading.Event()
    waits = Waits()
    asked = []

    def busy():
        asked.append(time.perf_counter())
        if len(asked) == 20:
            release.set()
        return True

    def batches():
        release.wait(10)
        yield "batch"

    waits.device_busy = busy
    assert list(prefetched(batches(), 1, threading.Event(), waits))[:1] == ["batch"]
    # The device was at work whenever it was looked at, so nothing of that wait was the data's fault.
    assert len(asked) >= 20
    assert waits.seconds == 0.0


def test_an_idle_device_waits_as_long_as_the_host():
    waits = Waits()
    went = time.perf_counter()

    def batches():
        time.sleep(0.05)
        yield "batch"

    iterator = prefetched(batches(), 1, threading.Event(), waits)
    next(iterator)
    assert 0.0 < waits.seconds <= time.perf_counter() - went


def test_batches_made_when_asked_for_count_unless_the_device_is_still_at_work_after(monkeypatch):
    clock = iter([0.0, 3.0, 10.0, 11.0])
    monkeypatch.setattr("colab_tpu_magic.rewrite.waits.time.perf_counter", lambda: next(clock))
    waits = Waits()
    watched = waits.watched(iter(["a", "b"]))
    next(watched)
    assert waits.seconds == 3.0
    waits.device_busy = lambda: True
    next(watched)
    assert waits.seconds == 3.0
