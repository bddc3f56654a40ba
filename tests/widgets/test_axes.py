import math

import pytest

from colab_tpu_magic.widgets.axes import epoch_ends, short_number, step_ticks, value_axis

from .runs import empty_run, finished_run


def labels(*args):
    return [label for _, label in value_axis(*args).ticks]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.001, 0.004, ["0.001", "0.002", "0.003", "0.004"]),
        (1e6, 3e6, ["1e6", "1.5e6", "2e6", "2.5e6", "3e6"]),
        (2e-7, 4e-7, ["2e-7", "2.5e-7", "3e-7", "3.5e-7", "4e-7"]),
    ],
)
def test_linear_ticks_are_round_numbers(low, high, expected):
    assert labels(low, high) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.01, 10.0, ["0.01", "0.1", "1", "10"]),
        (0.2, 4.0, ["0.2", "0.5", "1", "2"]),
        (1e-20, 1.0, ["1e-20", "1e-15", "1e-10", "1e-5", "1"]),
        (0.9, 1.2, ["0.9", "1", "1.1", "1.2"]),
    ],
)
def test_logarithmic_ticks_are_decades_then_one_two_five_then_even_steps(low, high, expected):
    assert labels(low, high, True) == expected


@pytest.mark.parametrize("low", [1e-90, 0.3, 5.0, 1e90])
@pytest.mark.parametrize("ratio", [1.0, 1.0001, 1.5, 30.0, 1e9])
def test_every_logarithmic_axis_has_ticks_inside_it(low, ratio):
    axis = value_axis(low, low * ratio, True)
    assert axis.log
    assert axis.low < math.log10(low) <= axis.high
    assert 1 <= len(axis.ticks) <= 10
    assert all(axis.low <= place <= axis.high + 1e-9 for place, _ in axis.ticks)


def test_equal_values_get_an_axis_around_them():
    axis = value_axis(2.0, 2.0)
    assert axis.low < 2.0 < axis.high


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (-250000.0, "-2.5e5"), (0.5, "0.5"), (1e-5, "1e-5")])
def test_long_numbers_are_written_in_few_letters(value, text):
    assert short_number(value) == text


def test_step_ticks_are_whole_and_few():
    assert step_ticks(1) == [0, 1]
    assert step_ticks(5000) == [0, 2000, 4000]


def test_epoch_ends_are_at_most_about_eight_whatever_the_number_of_epochs():
    run = empty_run(epochs=100_000, steps_per_epoch=10)
    ends = epoch_ends(run, 1_000_000)
    assert len(ends) <= 8
    assert ends[0] == (20_000, 200_000)


def test_epoch_ends_are_those_of_the_validations_when_the_steps_are_unknown():
    assert epoch_ends(finished_run(steps_per_epoch=None), 20) == ((1, 10), (2, 20))
    assert epoch_ends(finished_run(first_epoch=4), 20) == ((4, 10), (5, 20))
