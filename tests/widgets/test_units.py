import math

import pytest

from colab_tpu_magic.widgets.units import duration_text, number_text, rate_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "unknown"),
        (math.nan, "unknown"),
        (-1.0, "0.00 s"),
        (0.043, "0.04 s"),
        (3.21, "3.2 s"),
        (9.96, "10 s"),
        (59.7, "1 min 00 s"),
        (125, "2 min 05 s"),
        (3599.6, "1 h 00 min"),
        (3720, "1 h 02 min"),
    ],
)
def test_durations_are_written_for_people(seconds, text):
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "NaN"),
        (math.inf, "infinite"),
        (-math.inf, "-infinite"),
        (0.123456, "0.1235"),
        (0.0, "0"),
    ],
)
def test_metric_values_have_four_digits_and_odd_ones_a_name(value, text):
    assert number_text(value) == text


def test_rates_have_separators_and_an_unknown_rate_a_dash():
    assert rate_text(12345.6, "examples") == "12,346 examples/s"
    assert rate_text(4.5678, "steps") == "4.57 steps/s"
    assert rate_text(None, "steps") == "– steps/s"
    assert rate_text(math.inf, "steps") == "– steps/s"
