import json
import xml.etree.ElementTree as ET

import pytest

pytest.importorskip("ipywidgets")

from colab_tpu_magic.training.control import Control
from colab_tpu_magic.widgets import dashboard
from colab_tpu_magic.widgets.chart_options import ChartOptions
from colab_tpu_magic.widgets.dashboard import MAX_DRAW_SHARE, Dashboard
from colab_tpu_magic.widgets.stage import WIDGET_MIME, InsideWidget
from colab_tpu_magic.widgets.static import run_bundle
from colab_tpu_magic.widgets.svg import chart_svg
from colab_tpu_magic.widgets.text import run_summary

from .front import click, enter, open_widgets
from .runs import change, empty_run, finished_run, series

HARM = '<img src=x onerror="alert(1)">'


def training(**fields):
    """Return a run in its first epoch with two values of its loss."""
    known = {"phase": "training", "epoch": 1, "step": 2, "epoch_step": 2, "compile_seconds": 2.0}
    known["train"] = {"loss": series("loss", {1: 2.0, 2: 1.0})}
    known["learning_rate"] = series("learning rate", {0: 0.001})
    return empty_run(**known | fields)


def drawings(board):
    """Return a list that gets each new value of the chart and of the header."""
    seen = []
    for name in ("_chart", "_header"):
        getattr(board, name).observe(lambda new, name=name: seen.append((name, new["new"])), "value")
    return seen


def test_the_dashboard_is_one_output_that_can_be_replaced(shown, output):
    board = shown(empty_run())
    ((bundle, options),) = output.displayed
    assert options == {"raw": True, "display_id": True}
    assert bundle[WIDGET_MIME] == {"version_major": 2, "version_minor": 0, "model_id": board.box.model_id}
    assert "8 simulated replicas" in bundle["text/plain"]
    json.dumps(bundle)


def test_it_is_alive_before_the_first_step(shown):
    header, chart = shown(empty_run()).box.children
    assert "compiling the training step…" in header.value
    assert "<animate" in header.value
    assert "<script" not in header.value + chart.value
    assert "no values yet" in chart.value


def test_controls_stand_above_the_numbers_and_the_chart(make_dashboard, shown):
    board = make_dashboard(empty_run())
    assert board.box.children == (board.controls.box, board._header, board._chart)
    assert shown(empty_run()).controls is None


def test_the_header_shows_where_the_training_is(shown, clock):
    run = empty_run(started=clock.seconds)
    board = shown(run)
    run.phase, run.epoch, run.compile_seconds = "training", 1, 2.0
    for step in (2, 4):
        clock.seconds += 1.0
        run.step = run.epoch_step = step
        board.update()
    words = " ".join(ET.fromstring(board._header.value).itertext())
    assert board.steps_per_second() == 2.0
    for part in (
        "1 / 2",
        "4 / 10",
        "2,048",
        "3.0 s",
        "8 simulated replicas (v2-8) on CPU, JAX backend",
        "1,024 rows = 8 replicas × 128",
        "compiled in 2.0 s",
    ):
        assert part in words
    assert "width:20.0%" in board._header.value


@pytest.mark.parametrize("between", ["paused", "validating"])
def test_the_speed_is_that_of_the_training_without_what_came_between(shown, clock, between):
    run = training()
    board = shown(run)

    def seconds(count, steps, phase):
        run.phase = phase
        for _ in range(count):
            clock.seconds += 1.0
            run.step += steps
            board.update()
        return board.steps_per_second()

    assert seconds(3, 4, "training") == 4.0
    assert seconds(5, 0, between) == 4.0
    assert seconds(3, 6, "training") == 6.0


def test_epochs_shorter_than_the_time_between_two_drawings_have_a_speed(shown, clock):
    run = training(latest_step_ms=(0.5, 1.5))
    board = shown(run)
    for epoch in range(1, 5):
        run.epoch, run.step = epoch, 100 * epoch
        clock.seconds += 0.3
        board.update()
        assert board.steps_per_second() == 500.0
    run.phase = "validating"
    run.latest_step_ms = (0.0, 4.0)
    clock.seconds += 0.3
    board.update()
    assert board.steps_per_second() == 500.0


def test_it_draws_at_most_four_times_a_second(shown, clock):
    board = shown(training())
    for _ in range(1000):
        clock.seconds += 0.001
        board.update()
    assert 3 <= board.draws <= 4


def test_a_caller_that_comes_every_quarter_of_a_second_is_drawn_almost_every_time(shown, clock):
    board = shown(training())
    for i in range(100):
        clock.seconds += 0.2505 + (0.0004 if i % 2 else -0.0004)
        board.update()
    assert board.draws >= 95


@pytest.mark.parametrize("cost", [0.002, 0.008])
def test_costly_drawings_become_rare_so_that_they_take_half_a_percent_of_the_time(shown, clock, monkeypatch, cost):
    board = shown(training())

    def slow_header(*_):
        clock.seconds += cost
        return ""

    monkeypatch.setattr(dashboard, "header_html", slow_header)
    began = clock.seconds
    for _ in range(20_000):
        clock.seconds += 0.002
        board.update()
    assert board.draws * cost == pytest.approx(MAX_DRAW_SHARE * (clock.seconds - began), rel=0.15)
    assert board.seconds_per_draw == pytest.approx(cost)


def test_the_costliest_drawings_still_come_every_two_seconds(shown, clock, monkeypatch):
    board = shown(training())

    def slow_header(*_):
        clock.seconds += 1.0
        return ""

    monkeypatch.setattr(dashboard, "header_html", slow_header)
    began = clock.seconds
    for _ in range(1_000):
        clock.seconds += 0.02
        board.update()
    assert board.draws == pytest.approx((clock.seconds - began) / 2, abs=1)


def test_a_drawing_that_waited_for_a_busy_machine_does_not_make_the_next_ones_rare(shown, clock, monkeypatch):
    board = shown(training())
    monkeypatch.setattr(dashboard.time, "thread_time", lambda: 0.0)

    def interrupted_header(*_):
        clock.seconds += 0.1
        return ""

    monkeypatch.setattr(dashboard, "header_html", interrupted_header)
    for _ in range(500):
        clock.seconds += 0.002
        board.update()
    assert board.draws >= 4


def test_a_forced_update_is_drawn_at_once(shown, clock):
    board = shown(training())
    board.update()
    clock.seconds += 0.01
    board.update()
    assert board.draws == 1
    board.update(force=True)
    assert board.draws == 2


def test_the_chart_moves_with_the_training_and_keeps_its_height(shown, clock):
    run = training()
    board = shown(run)
    pictures, height = [], board._chart.layout.height
    for step in (3, 4):
        clock.seconds += 1.0
        run.step = run.epoch_step = step
        run.train["loss"].add(step, 1.0 / step)
        board.update()
        pictures.append(board._chart.value)
    assert pictures[0] != pictures[1]
    assert board._chart.layout.height == height == "262px"


def test_the_chart_makes_room_for_metrics_that_come_later(shown, clock):
    run = empty_run(phase="training", epoch=1)
    board = shown(run)
    for name in ("loss", "a", "b", "c"):
        run.train[name] = series(name, {1: 1.0})
    run.step = 1
    board.update()
    assert board._chart.layout.height == "524px"


def test_the_same_state_is_drawn_and_sent_only_once(make_dashboard, clock):
    board = make_dashboard(training())
    board.update()
    sent = drawings(board)
    for _ in range(5):
        clock.seconds += 1.0
        board.update(force=True)
    assert board.draws == 6
    # The steps a second become 0 at the second look at the same step.
    assert [name for name, _ in sent] == ["_header"]


@pytest.mark.parametrize("phase", ["paused", "validating"])
def test_the_numbers_change_without_the_chart_when_there_is_no_new_point(shown, clock, phase):
    run = training()
    board = shown(run)
    board.update()
    sent = drawings(board)
    run.phase = phase
    clock.seconds += 1.0
    board.update()
    assert [name for name, _ in sent] == ["_header"]


def test_a_validation_is_drawn_when_no_training_value_came_since(shown, clock):
    run = training()
    board = shown(run)
    board.update()
    sent = drawings(board)
    run.validation["loss"] = series("loss", {2: 1.5})
    clock.seconds += 1.0
    board.update()
    assert "_chart" in [name for name, _ in sent]
    assert board._chart.value == chart_svg(run)


@pytest.mark.parametrize(
    ("switch", "options"),
    [
        ("log", ChartOptions(log=True)),
        ("smooth", ChartOptions(smoothing=0.75)),
        ("mean", ChartOptions(epoch_mean=True)),
    ],
)
def test_a_switch_is_drawn_at_once_although_the_last_drawing_is_recent(make_dashboard, clock, switch, options):
    points = {step: 1000.0 / step**3 for step in range(1, 9)}
    run = training(train={"loss": series("loss", points)}, running={"loss": series("loss", dict.fromkeys(points, 3.0))})
    board = make_dashboard(run)
    board.update()
    before = board._chart.value
    enter(getattr(board.controls, switch), True)
    board.update()
    assert board.draws == 2
    assert board._chart.value == chart_svg(run, options=options)
    assert board._chart.value != before
    board.update()
    assert board.draws == 2


def test_listening_delivers_the_clicks_and_shows_what_they_did(make_dashboard, pump):
    control = Control()
    board = make_dashboard(training(), control)
    pump.messages = [lambda: click(board.controls.stop), lambda: enter(board.controls.pause, True)]
    board.listen()
    assert control.stopping.is_set()
    assert control.pausing.is_set()
    assert board.controls.stop.description == "Stopping…"
    assert board.controls.pause.description == "Resume"


def test_listening_shows_the_true_rate_again_after_one_that_cannot_be(make_dashboard, pump):
    board = make_dashboard(training())
    board.update()
    pump.messages = [lambda: enter(board.controls.rate, -1.0)]
    board.listen()
    assert board.controls.rate.value == 0.001


def test_a_rate_that_was_set_is_in_the_field_at_the_next_look_and_not_only_at_the_next_drawing(
    make_dashboard, pump, clock
):
    control, run = Control(), training()
    board = make_dashboard(run, control)
    board.update()
    pump.messages = [lambda: click(board.controls.half)]
    board.listen()
    run.learning_rate.add(run.step, control.take_rate())
    board.listen()
    assert board.draws == 1
    assert board.controls.rate.value == 0.0005


def test_half_twice_between_two_drawings_is_a_quarter(make_dashboard, pump, clock):
    control, run = Control(), training()
    board = make_dashboard(run, control)
    board.update()
    for _ in range(2):
        pump.messages = [lambda: click(board.controls.half)]
        board.listen()
        run.learning_rate.add(run.step, control.take_rate())
        board.update()
    assert board.draws == 1
    assert run.learning_rate.values[-1] == 0.00025


def test_without_a_kernel_the_controls_are_grey_and_say_why(output):
    board = Dashboard(training(), Control(), None)
    board.update()
    assert all(one.disabled for one in board.controls.widgets)
    assert "there is no Jupyter kernel here" in board.controls.note.value
    assert "Ctrl-C" in board.controls.note.value


def test_controls_turn_grey_when_no_click_can_arrive_any_more(make_dashboard, pump, clock):
    board = make_dashboard(training())
    board.update()
    assert not any(one.disabled for one in board.controls.widgets)
    pump.reason = "The kernel raised OSError: gone."
    clock.seconds += 1.0
    board.update()
    assert all(one.disabled for one in board.controls.widgets)
    assert "OSError: gone" in board.controls.note.value


def test_finishing_puts_the_static_picture_into_the_same_output_and_closes_every_widget(output, pump):
    before = open_widgets()
    run = finished_run()
    board = Dashboard(run, Control(), None)
    opened = len(open_widgets())
    board.finish()
    ((bundle, options),) = output.updates
    assert options == {"raw": True}
    assert set(bundle) == {"text/html", "image/svg+xml", "image/png", "text/plain"}
    assert output.open_at_update == opened > len(before)
    assert open_widgets() == before


def test_what_stays_is_drawn_as_it_was_drawn_last(make_dashboard, output):
    run = finished_run()
    board = make_dashboard(run)
    enter(board.controls.log, True)
    enter(board.controls.smooth, True)
    board.finish()
    ((bundle, _),) = output.updates
    expected = run_bundle(run, ChartOptions(log=True, smoothing=0.75))
    assert bundle["image/svg+xml"] == expected["image/svg+xml"] != run_bundle(run)["image/svg+xml"]
    assert bundle["text/html"] == expected["text/html"]


def test_inside_another_widget_it_comes_and_goes_and_nothing_is_displayed(output, pump):
    from ipywidgets import VBox

    around = VBox()
    before = open_widgets()
    board = Dashboard(finished_run(), Control(), None, InsideWidget(around))
    assert around.children == (board.box,)
    board.finish()
    assert around.children == ()
    assert open_widgets() == before
    assert output == type(output)()
    around.close()


def test_a_static_picture_that_fails_leaves_the_summary_and_no_widget(output, pump, monkeypatch):
    before, run = open_widgets(), finished_run()
    board = Dashboard(run, Control(), None)
    monkeypatch.setattr(dashboard, "run_bundle", lambda *_: 1 / 0)
    with pytest.warns(UserWarning, match="static picture could not be drawn: ZeroDivisionError"):
        board.finish()
    assert output.updates == [({"text/plain": run_summary(run)}, {"raw": True})]
    assert open_widgets() == before


def test_an_output_that_cannot_be_replaced_leaves_no_widget_open_either(output, pump, monkeypatch):
    before = open_widgets()
    board = Dashboard(finished_run(), Control(), None)
    monkeypatch.setattr(output, "update", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        board.finish()
    assert open_widgets() == before


def test_every_text_from_outside_is_escaped_live_and_in_what_stays(make_dashboard, output, clock):
    run = training(device=HARM, changes=(change(why=HARM, before=HARM),))
    run.train = {HARM: series(HARM, {1: 1.0, 2: 2.0})}
    run.validation = {HARM: series(HARM, {2: 2.0})}
    board = make_dashboard(run)
    board.controls.control.rate_lock = HARM
    board.update()
    run.status, run.error = "failed", HARM
    live = [board._header.value, board._chart.value, board.controls.note.value]
    board.finish()
    ((bundle, _),) = output.updates
    for html in (*live, bundle["image/svg+xml"], bundle["text/html"]):
        assert "<img src=x" not in html
        assert "&lt;img src=x" in html
