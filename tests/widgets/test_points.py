import math

import pytest

from colab_tpu_magic.training.series import Series
from colab_tpu_magic.widgets.points import Points, points_of


def test_all_finite_values_are_taken_as_they_are():
    points = points_of(Series("loss", [1, 2], [0.5, 0.25]))
    assert (points.xs, points.values, points.not_finite) == ([1, 2], [0.5, 0.25], 0)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, 1e200])
def test_values_without_a_place_are_left_out_and_counted(odd):
    points = points_of(Series("loss", [1, 2, 3], [0.5, odd, 0.25]))
    assert (points.xs, points.values, points.not_finite) == ([1, 3], [0.5, 0.25], 1)


def test_infinities_of_both_signs_do_not_cancel():
    assert points_of(Series("loss", [1, 2, 3], [math.inf, -math.inf, 1.0])).values == [1.0]


def test_no_series_has_no_points():
    assert points_of(None) == Points()


def test_only_values_above_zero_are_positive():
    points = Points([1, 2, 3], [0.0, -1.0, 2.0]).positive()
    assert (points.xs, points.values, points.not_positive) == ([3], [2.0], 2)


def test_smoothing_begins_at_the_first_value_and_keeps_a_steady_one():
    assert Points([1, 2], [4.0, 4.0]).smoothed(0.9).values == pytest.approx([4.0, 4.0])
    # With a weight of 0.5: (0.5 * 1 + 0.25 * 4 ... ) over what the weights add up to.
    assert Points([1, 2, 3], [4.0, 1.0, 1.0]).smoothed(0.5).values == pytest.approx([4.0, 2.0, 10 / 7])


def test_smoothing_is_corrected_for_its_start_however_heavy_the_past():
    values = Points(list(range(2000)), [1.0] * 2000).smoothed(0.99).values
    assert values == pytest.approx([1.0] * 2000, abs=2e-4)


def test_thinning_keeps_first_last_and_spikes_of_every_stretch():
    xs = list(range(5000))
    values = [1.0] * 5000
    values[777], values[4000] = 9.0, -9.0
    thin = Points(xs, values).thinned(100)
    assert len(thin.xs) <= 100
    assert (thin.xs[0], thin.xs[-1]) == (0, 4999)
    assert dict(zip(thin.xs, thin.values))[777] == 9.0
    assert dict(zip(thin.xs, thin.values))[4000] == -9.0


def test_thinning_goes_by_steps_so_a_dense_end_does_not_take_the_points():
    xs = [*range(0, 1000, 10), *range(1000, 1900)]
    thin = Points(xs, [x % 7 * 1.0 for x in xs]).thinned(100)
    assert sum(x < 950 for x in thin.xs) >= 40


def test_few_points_are_left_alone():
    points = Points([1, 2], [1.0, 2.0])
    assert points.thinned(10) is points
    assert points.sampled(10) is points


def test_sampling_keeps_the_last_point():
    sampled = Points(list(range(1000)), [0.0] * 1000).sampled(90)
    assert len(sampled.xs) <= 91
    assert (sampled.xs[0], sampled.xs[-1]) == (0, 999)


def test_corners_keep_only_the_ends_of_steady_stretches():
    corners = Points([0, 1, 2, 3, 4, 5, 6], [1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1]).corners()
    assert (corners.xs, corners.values) == ([0, 2, 3, 6], [1.0, 1.0, 0.1, 0.1])
    assert Points().corners() == Points()
    falling = Points([0, 1, 2], [3.0, 2.0, 1.0])
    assert falling.corners() is falling
