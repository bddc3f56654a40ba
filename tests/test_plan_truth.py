"""The comparison of plans with published figures: its arithmetic, and what stands on the published side."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.compared import Compared, against, deeper, line, rate, whole_seconds
from benchmarks.plan_truth import CHIPS, main
from benchmarks.published import IMAGENET, PUBLISHED, Part, Published
from colab_tpu_magic.planner.row import FITS, OUT_OF_MEMORY, Row
from colab_tpu_magic.planner.targets import SILICON, target

ONE = Published("a", "v3-32", (Part("short", 512, 9), Part("long", 512, 1)), "", 400.0, "", "s", "2019-04", "")


def row(seconds: tuple[float, float], **more: Any) -> Row:
    return Row("v3-32", 512, "", **{"status": FITS, "step_seconds": seconds, **more})


def test_a_training_of_two_kinds_of_step_has_the_rate_of_all_its_rows() -> None:
    """Nine steps of a second and one of three: 10 · 512 rows in 12 seconds."""
    assert rate([(512, 9, 1.0), (512, 1, 3.0)]) == pytest.approx(5120 / 12)


def test_the_lower_end_is_compared_and_within_a_quarter_is_close() -> None:
    found = against(ONE, [row((0.9, 1.0)), row((2.9, 3.0))])
    assert (found.low, found.high) == (pytest.approx(5120 / 12), pytest.approx(5120 / 11))
    assert found.ratio == pytest.approx(5120 / 12 / 400) and found.close
    assert not Compared("b", 130.0, 130.0, 100.0).close and not Compared("b", 70.0, 70.0, 100.0).close


def test_each_further_layer_takes_half_of_what_two_more_took() -> None:
    """1.0 s with two layers and 1.5 with four: 24 layers take 1.0 + 11 · 0.5."""
    found = deeper(row((1.0, 1.1)), row((1.5, 1.7)), 24)
    assert found.step_seconds == (pytest.approx(6.5), pytest.approx(1.1 + 11 * 0.6))
    assert found.examples_per_second == (pytest.approx(512 / 7.7), pytest.approx(512 / 6.5))
    full = row((0, 0), status=OUT_OF_MEMORY, reason="full")
    assert deeper(row((1, 1)), full, 24) is full


def test_at_memorys_whole_rate_a_step_saves_what_the_compiler_has_it_wait() -> None:
    """Of 1.0 s of estimate 0.4 is waiting: the step of 1.1 s takes 0.7; each two layers more wait a quarter second more."""
    two = row((1.0, 1.1), device_seconds=1.0, full_memory_rate_seconds=0.6)
    assert whole_seconds(two) == pytest.approx(0.7)
    found = against(ONE, [two, two])
    assert found.whole == pytest.approx(512 / 0.7) and line(found)[2:] == ["1.16", "1.83"]
    deep = deeper(two, row((1.5, 1.7), device_seconds=1.5, full_memory_rate_seconds=0.85), 24)
    assert deep.full_memory_rate_seconds == pytest.approx(deep.device_seconds - 0.4 - 11 * 0.25)


def test_what_is_refused_says_why_in_place_of_a_figure() -> None:
    found = against(ONE, [row((1, 1)), row((0, 0), status=OUT_OF_MEMORY, reason="Does not fit: 20 GiB needed.")])
    assert line(found) == ["–", "400", "Does not fit: 20 GiB needed.", "–"]


def test_a_range_is_shown_where_its_ends_can_be_told_apart() -> None:
    assert line(Compared("a", 3476.4, 3511.2, 4010.3)) == ["3,476–3,511", "4,010", "0.87", "–"]
    assert line(Compared("a", 172.6, 172.6, 197.0), 1) == ["172.6", "197.0", "0.88", "–"]


def test_every_published_figure_has_its_source_its_date_and_what_was_different() -> None:
    assert len({one.name for one in PUBLISHED}) == len(PUBLISHED)
    for one in PUBLISHED:
        assert target(one.target).devices and one.examples_per_second > 0
        assert one.source.startswith(("github.com/", "You et al., arxiv.org/")) and one.date[:2] == "20" and one.differs
        assert all(part.batch_size % target(one.target).devices == 0 for part in one.parts)


def test_published_figures_follow_from_what_their_sources_print() -> None:
    known = {one.name: one.examples_per_second for one in PUBLISHED}
    assert known["resnet50-v2-8-tf1.11"] == pytest.approx(4010, abs=1)
    assert known["resnet50-v2-8-tf1.8"] == pytest.approx(3250, abs=1)
    assert known["resnet50-v3-8-flax"] == pytest.approx(100 * IMAGENET / (4.4 * 3600), rel=0.001)
    assert known["bert-large-v3-32"] == pytest.approx(1747, abs=1)


def test_every_generation_is_held_against_its_peak() -> None:
    assert {target(name).chip.name for name in CHIPS} == set(SILICON)


def test_an_unknown_row_names_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "resnet"])
    assert "no such row: resnet; there are resnet50-v2-8-tf1.11" in capsys.readouterr().err
