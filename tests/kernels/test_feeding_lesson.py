"""The lesson on feeding a TPU measures what it states: what waits, what does not, and what a shuffle is."""

from __future__ import annotations

import re

import pytest

from .lesson import executed

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

LINES = ("line by line, Python", "line by line, tf.data")
WAYS = (*LINES, "the article's pipeline", "in bulk, float32", "in bulk, uint8")


@pytest.fixture(scope="module")
def lesson(root, tmp_path_factory):
    return executed(root / "notebooks" / "05_feeding_the_tpu.ipynb", tmp_path_factory.mktemp("feeding"))


def step_of(lesson, name):
    """Milliseconds of a step, of its waiting and of its computing, and rows a second."""
    line = rf"^{name} +(\d+) ms +(\d+) ms +(\d+) ms +([\d,]+)$"
    (found,) = re.findall(line, lesson.printed("fed-figures"), re.MULTILINE)
    return [float(figure.replace(",", "")) for figure in found]


def waiting_share(lesson, name):
    step, waiting, _, _ = step_of(lesson, name)
    return waiting / step


def rate_of(lesson, way):
    return lesson.number("measure", rf"{way} +([\d,]+) rows a second")


def epochs_of(lesson, way):
    (found,) = re.findall(rf"{way}: test accuracy of each epoch ([\d., ]+), test", lesson.printed("shuffle-figures"))
    return [float(value) for value in found.split(", ")]


def test_every_way_has_a_rate_and_lines_of_text_are_far_behind(lesson):
    rates = {way: rate_of(lesson, way) for way in WAYS}
    # A hundred times slower: what else runs on the machine does not turn that round.
    assert 0 < max(rates[way] for way in LINES) < min(rates[way] for way in WAYS if way not in LINES)


def test_the_arithmetic_of_a_row_is_that_of_the_model(lesson):
    weights = 784 * 64 + 64 + 64 * 10 + 10
    assert lesson.number("why", r"([\d,]+) operations for a row") == 6 * weights
    assert lesson.number("why", r"([\d,]+) rows a second") == pytest.approx(0.01 * 184e12 / (6 * weights), rel=1e-5)


def test_the_starved_training_waits_and_says_so(lesson):
    assert waiting_share(lesson, "starved") > 0.5
    assert re.search(r"waited \d+ % of the time for data: a step takes", lesson.text("starved"))
    # A training is no faster than its feed; both are measured on a machine that others load too.
    assert step_of(lesson, "starved")[3] < 2 * rate_of(lesson, "line by line, tf.data")


def test_the_fed_training_does_not_wait(lesson):
    assert waiting_share(lesson, "fed") < 0.2
    assert "of the time for data" not in lesson.text("fed")
    assert step_of(lesson, "fed")[3] > 3 * step_of(lesson, "starved")[3]
    assert "Each of the 64 steps" in lesson.printed("fed-figures")


def test_both_learn_alike(lesson):
    table = lesson.text("compare")
    starved, fed = (float(re.findall(rf"^run {n}  +batch 256, Adam 0.001  +(\S+)", table, re.M)[0]) for n in (1, 2))
    assert starved == pytest.approx(fed, rel=0.1)


def test_a_buffer_over_sorted_rows_shows_few_classes(lesson):
    shown = dict(re.findall(r"^(.+): classes \[(.*)\]$", lesson.printed("sort"), re.MULTILINE))
    assert all(shown[f"all rows shuffled, batch {number}"] == "0 1 2 3 4 5 6 7 8 9" for number in (1, 2, 3, 4))
    assert all(len(shown[f"buffer of 1,000 rows, batch {number}"].split()) <= 6 for number in (1, 2, 3, 4))


def test_what_is_shuffled_over_all_rows_learns_more(lesson):
    buffered, shuffled = epochs_of(lesson, "buffer of 1,000 rows"), epochs_of(lesson, "all rows shuffled")
    assert len(buffered) == len(shuffled) == 4
    assert buffered[0] < shuffled[0] - 0.15
    assert buffered[-1] < shuffled[-1]
    stated = [float(figure) for figure in re.findall(r"\b0\.\d\d\b", lesson.stated("shuffle-question"))]
    assert stated == pytest.approx([buffered[0], shuffled[0], buffered[-1], shuffled[-1]], abs=0.06)


def test_no_row_is_lost_and_every_row_is_counted(lesson):
    assert "3,840 of 4,000 rows in an epoch, 4% lost" in lesson.printed("dropped")
    assert lesson.printed("full").splitlines() == [
        "16 steps an epoch, 1 shape of batch",
        "Full batches: last batch of 160 rows -> every batch 256 rows",
    ]
    right = lesson.number("exact", r"(\d+) of 995 right")
    assert lesson.number("exact", r"evaluate: ([\d.]+)") == pytest.approx(right, abs=0.01)
    assert "only 896 of the 995 rows" in lesson.printed("exact")


@pytest.mark.parametrize("cell", ["bars", "starved", "fed-figures", "compare", "shares", "shuffle-figures"])
def test_a_picture_stays(lesson, cell):
    assert lesson.pictures(cell)


def test_nothing_is_printed_to_the_error_stream(lesson):
    assert lesson.errors() == []
