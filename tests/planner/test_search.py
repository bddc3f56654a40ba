"""Which sizes are compiled: against a compiler of one line, whose memory grows with the batch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from colab_tpu_magic.planner.row import REFUSED, Row
from colab_tpu_magic.planner.search import MOST_PROBES, CurveSearch, Pace, default_sizes, granule, interpolated

from .plans import GIB, full_row, row

ALLOWED = 16 * GIB


def linear(per_row: int, always: int = GIB) -> Callable[[int], Row]:
    """Return a compiler whose steps need so many bytes for each row."""

    def answer(size: int) -> Row:
        needed = always + per_row * size
        return row(size, needed_bytes=needed) if needed <= ALLOWED else full_row(size, needed, ALLOWED)

    return answer


def searched(search: CurveSearch, answer: Callable[[int], Row]) -> list[int]:
    """Ask and answer until nothing more is wanted; return the sizes in the order in which they were asked for."""
    while (size := search.next()) is not None:
        search.tell(answer(size))
    assert search.done and not search.waiting
    return search.asked


def test_the_default_sizes_are_around_what_a_fit_would_take_the_chosen_one_first() -> None:
    assert default_sizes(1024, 8, 60_000) == (1024, 256, 4096)
    assert default_sizes(128, 1, None) == (128, 32, 512)


def test_default_sizes_divide_over_the_devices_and_are_no_more_than_the_rows() -> None:
    assert default_sizes(64, 8, 100) == (64, 96)
    assert default_sizes(40, 8, 40) == (40, 64) or default_sizes(40, 8, 40) == (40,)
    for size in default_sizes(1000, 8, 5_003):
        assert size % 8 == 0 and size <= 5_003


@pytest.mark.parametrize("per_row", [300_000, 1_000_001, 57_123_456])
@pytest.mark.parametrize("devices", [1, 8])
def test_the_largest_batch_fits_and_one_step_more_does_not(per_row: int, devices: int) -> None:
    answer = linear(per_row)
    search = CurveSearch(default_sizes(128 * devices, devices), devices, allowed_bytes=ALLOWED)
    asked = searched(search, answer)
    assert search.largest is not None and search.first_full is not None
    assert answer(search.largest).fits and not answer(search.first_full).fits
    assert search.first_full - search.largest <= granule(search.largest, devices)
    assert search.first_full % (8 * devices) == 0
    assert len(asked) <= 3 + 6


def test_memory_that_grows_in_steps_is_searched_to_its_end_too() -> None:
    def stairs(size: int) -> Row:
        needed = GIB * (1 + (size // 700) ** 2)
        return row(size, needed_bytes=needed) if needed <= ALLOWED else full_row(size, 0, ALLOWED)

    search = CurveSearch((128, 32, 512), 1, allowed_bytes=ALLOWED)
    searched(search, stairs)
    assert search.largest is not None and search.first_full is not None and search.probes < MOST_PROBES
    assert search.largest < 2_800 <= search.first_full <= search.largest + 64


def test_a_sweep_stops_at_the_first_size_that_does_not_fit() -> None:
    search = CurveSearch((128, 512, 2048, 8192), 1, to_the_largest=False, allowed_bytes=ALLOWED)
    asked = searched(search, linear(50_000_000))  # 322 rows fit
    assert 2048 not in asked and 8192 not in asked
    assert asked[:2] == [128, 512]
    assert (search.largest, search.first_full) == (320, 328)


def test_sizes_that_all_fit_are_not_searched_beyond_when_they_were_asked_for() -> None:
    search = CurveSearch((128, 512), 1, to_the_largest=False, allowed_bytes=ALLOWED)
    assert searched(search, linear(1000)) == [128, 512]
    assert search.largest is None and search.first_full is None


def test_nothing_that_fits_is_found_out_down_to_the_smallest_batch() -> None:
    search = CurveSearch((1024,), 8, allowed_bytes=ALLOWED)
    asked = searched(search, linear(1, always=17 * GIB))
    assert min(asked) == 64 and search.largest is None


def test_no_larger_batch_is_tried_than_there_are_rows() -> None:
    search = CurveSearch((128, 32, 512), 1, most=60_000, allowed_bytes=ALLOWED)
    asked = searched(search, linear(1000))
    assert max(asked) == 60_000 and search.largest == 60_000 and search.first_full is None
    assert len(asked) <= 5


def test_sizes_go_out_together_and_the_search_waits_for_them() -> None:
    search = CurveSearch((128, 32, 512), 1, allowed_bytes=ALLOWED)
    assert [search.next() for _ in range(4)] == [128, 32, 512, None]
    assert search.waiting and not search.done
    for size in (512, 32, 128):
        search.tell(linear(1_000_000)(size))
    assert search.next() == 15_872  # the straight line says 16,106; steps of 256


def test_a_step_that_is_refused_for_another_reason_ends_the_search_for_the_largest() -> None:
    search = CurveSearch((128, 512), 1, allowed_bytes=ALLOWED)
    search.next(), search.next()
    search.tell(row(128))
    search.tell(Row("v5e-1", 512, "", REFUSED, "Not compiled within 5 s."))
    assert search.next() is None and search.done and search.largest is None


def test_a_size_that_cannot_be_asked_for_is_no_reason_to_stop() -> None:
    search = CurveSearch((130, 512), 8, allowed_bytes=ALLOWED)
    assert search.next() == 130
    search.skip(130)
    assert search.next() == 512
    search.tell(full_row(512))
    assert search.next() == 256


def test_a_search_that_was_stopped_claims_no_largest_batch() -> None:
    search = CurveSearch((128,), 1, allowed_bytes=ALLOWED)
    assert search.next() == 128
    search.tell(row(128))
    search.stop()
    assert search.next() is None and search.done and search.largest is None


def test_the_same_answers_give_the_same_questions() -> None:
    first, again = (CurveSearch((128, 32, 512), 1, allowed_bytes=ALLOWED) for _ in range(2))
    assert searched(first, linear(1_234_567)) == searched(again, linear(1_234_567))


def test_between_two_sizes_the_step_time_is_a_straight_line() -> None:
    points = interpolated([row(256, 1000.0), row(1024, 2000.0), full_row(4096)], 8)
    assert [(point.batch_size, point.compiled) for point in points] == [(256, True), (512, False), (1024, True)]
    seconds = 0.256 + (0.512 - 0.256) / 3
    assert points[1].examples_per_second == pytest.approx(512 / seconds)


def test_the_pace_is_learned_from_what_was_compiled_and_guessed_before() -> None:
    assert Pace().each(17 * 1024) == pytest.approx(8.5)
    assert Pace().each(270 * 1024) > 120
    pace = Pace().but(row(compile_seconds=4.0)).but(row(compile_seconds=10.0)).but(row(cached=True))
    assert pace.seconds == (4.0, 10.0) and pace.each() == 10.0
