"""The lesson with the panel runs top to bottom in a real kernel, and what it states is what it shows."""

from __future__ import annotations

import re

import pytest

from .lesson import executed

pytestmark = [pytest.mark.kernel, pytest.mark.slow]


@pytest.fixture(scope="module")
def lesson(root, tmp_path_factory):
    return executed(root / "notebooks" / "04_training_by_widgets.ipynb", tmp_path_factory.mktemp("lesson"))


def accuracy_of(lesson, name):
    return lesson.number(name, r"test accuracy ([\d.]+)")


def test_every_run_is_told_with_its_steps(lesson):
    expected = {
        "first": "batch 64, rate 0.00141: 378 steps of 64 rows",
        "large-auto": "batch 1,024, rate 0.004: 24 steps of 1,024 rows",
        "large-keep": "batch 1,024, rate 0.001: 24 steps of 1,024 rows",
        "longer": "batch 1,024, rate 0.004 (2): 80 steps of 1,024 rows",
        "precision": "batch 64, rate 0.00141, bfloat16: 378 steps of 64 rows",
        "high": "batch 64, rate 0.1: 378 steps of 64 rows",
        "far-too-high": "batch 64, rate 1: 378 steps of 64 rows",
    }
    for name, told in expected.items():
        assert lesson.text(name).startswith(told)


def test_the_runs_come_out_as_the_answers_say(lesson):
    first, auto, keep = (accuracy_of(lesson, name) for name in ("first", "large-auto", "large-keep"))
    assert keep < auto < first
    assert first > 0.89
    assert accuracy_of(lesson, "longer") == pytest.approx(first, abs=0.02)
    assert accuracy_of(lesson, "precision") == pytest.approx(first, abs=0.02)
    assert accuracy_of(lesson, "high") < 0.7
    assert accuracy_of(lesson, "far-too-high") < 0.2
    assert "nan" not in lesson.text("far-too-high")
    assert re.search(r"every digit as one of \[\d\]\nand is sure of it to 100%", lesson.text("far-too-high"))
    rows = [re.split(r"\s{2,}", line) for line in lesson.text("list").splitlines() if re.match(r"\d  ", line)]
    speeds = {row[0]: float(row[-3].replace(",", "")) for row in rows}
    assert speeds["4"] > speeds["1"]


@pytest.mark.parametrize(
    ("answer", "runs"),
    [
        ("large-question", ("first", "large-auto", "large-keep")),
        ("longer-question", ("longer",)),
        ("precision-question", ("precision", "first")),
        ("rate-question", ("far-too-high",)),
    ],
)
def test_figures_in_the_answers_are_those_of_a_run(lesson, answer, runs):
    stated = [float(figure) for figure in re.findall(r"\b0\.\d{3}\b(?! ×)", lesson.stated(answer))]
    for run in runs:
        # Another machine may round otherwise.
        assert any(figure == pytest.approx(accuracy_of(lesson, run), abs=0.03) for figure in stated), (stated, run)


def test_the_picture_under_the_panel_holds_all_seven_runs(lesson):
    outputs = lesson.cells["panel"]["outputs"]
    (picture,) = [output for output in outputs if "<svg" in output.get("data", {}).get("text/html", "")]
    titles = [line.split("  ")[0] for line in picture["data"]["text/plain"].splitlines()[1:]]
    assert len(titles) == len(set(titles)) == 7
    assert picture["data"]["image/png"]


def test_the_list_and_the_comparison_hold_the_runs(lesson):
    for number in range(1, 8):
        assert re.search(rf"^{number}  ", lesson.text("list"), re.MULTILINE)
    compared = lesson.text("compare")
    assert "rate 0.004" in compared and "rate 0.001" in compared and "bfloat16" not in compared


def test_the_copied_cell_gives_the_loss_of_the_first_run(lesson):
    assert "the same: True" in lesson.text("same")


def test_nothing_is_printed_to_the_error_stream(lesson):
    assert lesson.errors() == []
