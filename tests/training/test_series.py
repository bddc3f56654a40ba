import math
import random

from colab_tpu_magic.training.series import MAX_POINTS, Series


def test_a_short_series_keeps_every_point():
    series = Series("loss")
    for step in range(1, MAX_POINTS + 1):
        series.add(step, float(step))
    assert series.steps == list(range(1, MAX_POINTS + 1))
    assert series.values == [float(step) for step in series.steps]


def test_a_hundred_thousand_points_stay_bounded_and_keep_first_last_and_extremes():
    noise = random.Random(0)
    series = Series("loss")
    longest = 0
    for step in range(1, 100_001):
        value = {777: 1e6, 54_321: -1e6}.get(step, noise.random())
        series.add(step, value)
        longest = max(longest, len(series.steps))
    assert longest <= MAX_POINTS
    assert len(series.steps) == len(series.values) > MAX_POINTS // 4
    assert series.steps[0] == 1
    assert series.steps[-1] == 100_000
    assert series.steps[series.values.index(1e6)] == 777
    assert series.steps[series.values.index(-1e6)] == 54_321


def test_steps_stay_in_order_without_doubles():
    series = Series("loss", max_points=50)
    for step in range(1, 2001):
        series.add(step, math.sin(step))
    assert series.steps == sorted(set(series.steps))
    assert all(value == math.sin(step) for step, value in zip(series.steps, series.values, strict=True))


def test_nan_does_not_push_out_the_extremes():
    series = Series("loss", max_points=50)
    for step in range(1, 1001):
        series.add(step, 9.0 if step == 500 else (math.nan if step % 2 else 1.0))
    assert 9.0 in series.values


def test_a_series_of_nan_only_stays_bounded():
    series = Series("loss", max_points=20)
    for step in range(1, 1001):
        series.add(step, math.nan)
    assert len(series.steps) <= 20
    assert (series.steps[0], series.steps[-1]) == (1, 1000)


def test_no_part_of_a_long_series_grows_thin():
    series = Series("loss")
    for step in range(1, 20_001):
        series.add(step, math.sin(step))
    parts = [sum(start < step <= start + 2_000 for step in series.steps) for start in range(0, 20_000, 2_000)]
    assert min(parts) >= 30
