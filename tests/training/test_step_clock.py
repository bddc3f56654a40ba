"""Timing of steps, and its split into waiting and computing."""

from colab_tpu_magic.rewrite.waits import Waits
from colab_tpu_magic.training.run import Run
from colab_tpu_magic.training.step_clock import StepClock


def clock(takes_batches=False):
    run = Run("this machine's CPU")
    waits = Waits()
    return run, waits, StepClock(run, waits, takes_batches)


def test_nothing_counts_before_the_first_stretch():
    run, _, one = clock()
    one.lap(5.0, 10)
    assert (run.timed_steps, run.train_seconds, run.step_seconds, run.data_wait_share) == (0, 0.0, None, None)


def test_laps_add_up_time_steps_and_waiting():
    run, waits, one = clock()
    one.restart(10.0, 1)
    waits.seconds += 1.5
    one.lap(12.0, 5)
    one.lap(13.0, 9)
    assert (run.train_seconds, run.timed_steps, run.data_wait_seconds) == (3.0, 8, 1.5)
    assert run.step_seconds == 0.375
    assert run.data_wait_share == 0.5
    assert run.latest_step_ms == (0.0, 250.0)


def test_a_stretch_that_was_stopped_counts_nothing_until_the_next_begins():
    run, waits, one = clock()
    one.restart(0.0, 0)
    one.lap(1.0, 4)
    one.stop()
    waits.seconds += 100.0
    one.lap(50.0, 4)
    one.restart(60.0, 4)
    one.lap(61.0, 8)
    assert (run.train_seconds, run.timed_steps, run.data_wait_seconds) == (2.0, 8, 0.0)


def test_waiting_never_exceeds_the_time_of_the_lap():
    run, waits, one = clock()
    one.restart(0.0, 0)
    waits.seconds += 9.0
    one.lap(1.0, 2)
    assert run.data_wait_seconds == 1.0
    assert run.latest_step_ms == (500.0, 0.0)


def test_a_step_that_takes_its_batches_is_worked_out_from_its_begin_and_end(monkeypatch):
    run, waits, one = clock(takes_batches=True)
    times = iter([0.5, 1.75])
    monkeypatch.setattr("colab_tpu_magic.rewrite.waits.time.perf_counter", lambda: next(times))
    list(waits.handed_over(iter("ab")))
    one.restart(0.0, 0)
    one.step_begins(0.0, 0)
    one.step_begins(1.0, 1)
    one.step_begins(2.0, 2)
    one.lap(2.0, 2)
    assert run.data_wait_seconds == 0.5 + 0.75
