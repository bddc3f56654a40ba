"""The arithmetic of the benchmarks; `tests/kernels/test_benchmarks_run.py` runs them."""

import pytest

from benchmarks import pipeline, pipeline_turns, step_overhead
from benchmarks.dashboard.contenders import CONTENDERS, NONE, Contender, nobody
from benchmarks.dashboard.figures import Pair, Shape, per_batch_and_epoch
from benchmarks.images import CUT, SCALED, report
from benchmarks.real_fit import STEPS, TRIAL_EPOCHS, epochs_for
from benchmarks.report import headline, markdown_table, spread

LONG, SHORT = Shape(2, 500), Shape(20, 50)


def pair(watched_wall=2.0, bare_wall=1.6, watched_bytes=6000.0, bare_bytes=1000.0):
    return Pair(
        name="ours",
        shape=LONG,
        step_seconds=0.0015,
        repeat=0,
        watched={"loop_wall": watched_wall, "loop_bytes": watched_bytes, "end_wall": 0.3},
        bare={"loop_wall": bare_wall, "loop_bytes": bare_bytes, "end_wall": 0.05},
    )


def test_a_shape_knows_its_batches_and_its_name():
    assert (LONG.batches, SHORT.batches) == (1000, 1000)
    assert str(SHORT) == "20×50"


def test_batch_and_epoch_are_solved_from_two_shapes():
    batch, epoch = 30e-6, 2e-3
    costs = [(shape, shape.batches * batch + shape.epochs * epoch) for shape in (LONG, SHORT)]
    assert per_batch_and_epoch(costs) == pytest.approx((batch, epoch))


def test_shapes_with_different_numbers_of_batches_are_solved_too():
    costs = [(shape, shape.batches * 1.0 + shape.epochs * 7.0) for shape in (Shape(1, 10), Shape(5, 4))]
    assert per_batch_and_epoch(costs) == pytest.approx((1.0, 7.0))


def test_one_slow_repeat_does_not_move_the_solution():
    costs = [(shape, shape.batches * 1e-5 + shape.epochs * 1e-3) for shape in (LONG, SHORT) for _ in range(3)]
    costs.append((LONG, 9.0))
    assert per_batch_and_epoch(costs) == pytest.approx((1e-5, 1e-3))


@pytest.mark.parametrize("shapes", [[LONG], [LONG, LONG], [Shape(2, 50), Shape(4, 50)]])
def test_shapes_that_are_alike_cannot_be_solved(shapes):
    with pytest.raises(ValueError, match="Expected: two with different steps an epoch"):
        per_batch_and_epoch([(shape, 1.0) for shape in shapes])


def test_a_fit_is_set_against_the_bare_one_beside_it():
    one = pair()
    assert one.wall_ratio == 1.25
    assert one.bytes_per_minute == pytest.approx(150_000)
    assert one.extra("end_wall") == pytest.approx(0.25)


def test_the_bare_fit_alone_is_set_against_the_waiting_of_its_steps():
    alone = pair(bare_wall=1.65).alone
    assert alone.wall_ratio == pytest.approx(1.1)
    assert alone.extra("end_wall") == 0.05


def test_the_first_contender_is_the_bare_fit():
    assert list(CONTENDERS)[0] == NONE
    assert CONTENDERS[NONE].missing == CONTENDERS["ours"].missing == []


def test_a_contender_names_what_is_not_installed():
    assert Contender("nobody", nobody, ("sys", "no_such_package")).missing == ["no_such_package"]


def test_a_table_is_markdown_with_the_figures_to_the_right():
    table = markdown_table(["who", "ms"], [["ours", "1"], ["theirs", "2"]])
    assert table.splitlines() == ["| who | ms |", "| --- | ---: |", "| ours | 1 |", "| theirs | 2 |"]


@pytest.mark.parametrize(
    ("values", "text"), [([1.0], "1.00"), ([1.0, 3.0, 1.1], "1.10 (1.00–3.00)"), ([2.0, 1.0], "1.50 (1.00–2.00)")]
)
def test_a_spread_is_the_median_between_the_extremes(values, text):
    assert spread(values) == text


def test_the_headline_says_how_busy_the_machine_was():
    about = {"date": "2026-11-30", "python": "3.11.7", "cores": 2, "load": 1.26, "packages": {"keras": "3.15.1"}}
    assert headline(about) == "2026-11-30, Python 3.11.7, 2 cores, load 1.3 at the start: keras 3.15.1."


def test_a_fit_is_long_enough_after_its_first_epoch():
    assert epochs_for(5.0, {"fastest_step_seconds": 0.5 / STEPS}) == 11
    assert epochs_for(5.0, {"fastest_step_seconds": 60.0 / STEPS}) == 1 + TRIAL_EPOCHS


def test_image_rates_are_set_against_keras_within_each_repeat():
    found = {
        SCALED: [{"wall": 10.0, "core": 20.0}, {"wall": 40.0, "core": 20.0}],
        CUT: [{"wall": 5.0, "core": 10.0}] * 2,
        "ours": [{"wall": 20.0, "core": 40.0}, {"wall": 40.0, "core": 60.0}],
    }
    last = report(found).splitlines()[-1]
    assert last == "| ours | 30 | 50 | 1.50 (1.00–2.00) | 2.50 (2.00–3.00) | 5.00 (4.00–6.00) |"


def test_the_table_of_pipelines_sets_ours_against_each_of_the_same_round():
    ways = {name: [1000.0, 2000.0] for name in pipeline.TITLES} | {"ours": [8000.0, 20000.0]}
    one = ways | {"cpu": dict.fromkeys(pipeline.TITLES, [0.5]), "batches_held": 3.0}
    lines = pipeline.table("jax", {"28×28 float32": one}).splitlines()
    assert "| the article's tf.data | 2 |" in lines and "| **ours** | 14 |" in lines
    assert "| ours ÷ the article's tf.data | 9.00 (8.00–10.00), goal 5 |" in lines
    assert "| ours ÷ memory limit | 9.00 (8.00–10.00), goal 0.8 |" in lines
    assert "| CPU µs a batch: **ours** | 512 |" in lines
    assert lines[-1] == "| batches held at most | 3.00 |"


def test_rows_are_counted_from_when_an_iterator_is_resumed():
    taken = iter([1000] * 6 + [7] * 10**6)
    rate, worked = pipeline_turns.rows_per_second(taken, 0.01)
    assert rate > 0 and worked >= 0
    assert next(taken) == 7


def test_the_table_of_steps_compares_the_rounds_of_one_runtime():
    ways = {"bare": [100.0, 200.0], "1": [150.0, 200.0], "4": [300.0, 300.0], "16": [1.0, 1.0], "64": [1.0, 1.0]}
    table = step_overhead.table({"jax-1": ways | {"auto": [300.0, 270.0]}})
    assert table.splitlines()[2] == ("| jax-1 | 150 | 175 | 300 | 1 | 1 | 285 | 1.25 (1.00–1.50) | 0.95 (0.90–1.00) |")
