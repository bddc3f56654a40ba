import math
import threading
import xml.etree.ElementTree as ET

import pytest

pytest.importorskip("ipywidgets")

from colab_tpu_magic.training.control import Control
from colab_tpu_magic.training.message_pump import NO_KERNEL
from colab_tpu_magic.widgets.chart_options import ChartOptions
from colab_tpu_magic.widgets.controls import SMOOTHING, Controls

from .front import click, enter, open_widgets
from .runs import empty_run, series


@pytest.fixture
def run():
    return empty_run(phase="training", epoch=1, learning_rate=series("learning rate", {0: 0.001}))


@pytest.fixture
def controls(run):
    made = Controls(Control())
    made.refresh(run)
    yield made
    made.close()


def asked(control):
    """Return everything that a control was asked for."""
    flags = control.interrupted, control.stopping, control.pausing
    return *(flag.is_set() for flag in flags), control.wanted_rate


def set_rate(controls, run):
    """Do what the training does with the rate that was asked for; return it."""
    rate = controls.control.take_rate()
    run.learning_rate.add(run.step, rate)
    return rate


NOTHING = (False, False, False, None)


def test_controls_ask_for_nothing_before_they_are_used(controls):
    assert asked(controls.control) == NOTHING
    assert controls.options == ChartOptions()
    assert not controls.redraw


def test_stop_asks_for_a_stop_and_nothing_else(controls):
    click(controls.stop)
    assert asked(controls.control) == (False, True, False, None)


def test_pause_asks_for_a_pause_until_it_is_pressed_again(controls):
    enter(controls.pause, True)
    assert asked(controls.control) == (False, False, True, None)
    enter(controls.pause, False)
    assert asked(controls.control) == NOTHING


@pytest.mark.parametrize(("name", "rate"), [("half", 0.0005), ("double", 0.002)])
def test_half_and_double_ask_for_that_rate_and_nothing_else(controls, name, rate):
    click(getattr(controls, name))
    assert asked(controls.control) == (False, False, False, rate)


def test_a_typed_rate_is_asked_for_and_nothing_else(controls):
    enter(controls.rate, 0.25)
    assert asked(controls.control) == (False, False, False, 0.25)


def test_half_twice_is_a_quarter_when_the_first_is_not_done_yet(controls):
    click(controls.half)
    click(controls.half)
    assert controls.control.wanted_rate == 0.00025


def test_half_twice_is_a_quarter_when_the_first_is_done_but_not_shown_yet(controls, run):
    click(controls.half)
    set_rate(controls, run)
    click(controls.half)
    assert controls.control.wanted_rate == 0.00025


def test_half_of_a_rate_with_more_digits_than_are_shown_is_exact(controls, run):
    run.learning_rate.add(1, 0.00123456789)
    controls.refresh(run)
    assert controls.rate.value == 0.001235
    click(controls.half)
    assert controls.control.wanted_rate == 0.00123456789 / 2


def test_half_counts_from_a_rate_that_was_just_typed(controls):
    enter(controls.rate, 8.0)
    click(controls.half)
    assert controls.control.wanted_rate == 4.0


@pytest.mark.parametrize("typed", [0.0, -0.5, math.nan, math.inf, -math.inf])
def test_a_rate_that_cannot_be_one_is_ignored_and_the_field_shows_the_true_one_again(controls, run, typed):
    enter(controls.rate, typed)
    assert asked(controls.control) == NOTHING
    controls.refresh(run)
    assert controls.rate.value == 0.001
    assert asked(controls.control) == NOTHING


def test_half_after_a_rate_that_cannot_be_one_counts_from_the_true_one(controls):
    enter(controls.rate, -1.0)
    click(controls.half)
    assert controls.control.wanted_rate == 0.0005


def test_the_field_does_not_ask_for_what_it_shows(controls, run):
    run.learning_rate.add(5, 0.5)
    controls.refresh(run)
    assert controls.rate.value == 0.5
    assert asked(controls.control) == NOTHING


def test_the_field_keeps_what_was_typed_until_it_is_done(controls, run):
    enter(controls.rate, 0.25)
    controls.refresh(run)
    assert controls.rate.value == 0.25
    set_rate(controls, run)
    controls.refresh(run)
    assert controls.rate.value == 0.25
    assert controls.control.wanted_rate is None


def test_the_field_follows_a_click_on_half_once_it_is_done(controls, run):
    click(controls.half)
    set_rate(controls, run)
    controls.refresh(run)
    assert controls.rate.value == 0.0005


def test_a_rate_typed_on_another_thread_while_the_field_is_written_is_not_lost(controls, run):
    # The kernels that have threads for widget messages run handlers on them.
    def types_meanwhile(_):
        other = threading.Thread(target=enter, args=(controls.rate, 0.125))
        controls.rate.unobserve(types_meanwhile, "value")
        other.start()
        other.join()

    controls.rate.observe(types_meanwhile, "value")
    run.learning_rate.add(5, 0.5)
    controls.refresh(run)
    assert controls.control.wanted_rate == 0.125


def test_a_half_that_would_be_no_number_above_zero_is_ignored(controls, run):
    run.learning_rate.add(5, 5e-324)
    controls.refresh(run)
    click(controls.half)
    assert asked(controls.control) == NOTHING


def test_pause_becomes_resume_and_back(controls, run):
    looks = []
    for paused in (True, False):
        enter(controls.pause, paused)
        controls.refresh(run)
        looks.append((controls.pause.description, controls.pause.icon))
    assert looks == [("Resume", "play"), ("Pause", "pause")]


def test_a_stop_greys_out_what_has_no_more_effect_and_leaves_the_switches_of_the_chart(controls, run):
    click(controls.stop)
    controls.refresh(run)
    assert controls.stop.description == "Stopping…"
    assert {one.description for one in controls.widgets if not one.disabled} == {"log axis", "smooth", "epoch mean"}


def test_a_rate_that_something_else_sets_is_greyed_out_with_the_reason(controls, run):
    controls.control.rate_lock = "the schedule <Ours> sets it"
    controls.refresh(run)
    assert [one.disabled for one in controls.rating] == [True] * 3
    assert not controls.stop.disabled
    note = ET.fromstring(controls.note.value)
    assert note.text == "The learning rate cannot be set here: the schedule <Ours> sets it."
    assert note.get("role") == "status"
    assert controls.note.layout.display is None


def test_a_rate_that_is_free_again_can_be_set_again(controls, run):
    controls.control.rate_lock = "the callback sets it"
    controls.refresh(run)
    controls.control.rate_lock = ""
    controls.refresh(run)
    assert [one.disabled for one in controls.rating] == [False] * 3
    assert controls.note.value == ""
    assert controls.note.layout.display == "none"


def test_where_no_click_arrives_everything_is_grey_with_the_reason_and_another_way_to_stop(controls):
    controls.lock(NO_KERNEL)
    assert [one.disabled for one in controls.widgets] == [True] * len(controls.widgets)
    assert ET.fromstring(controls.note.value).text == (
        "Buttons do not work during training: there is no Jupyter kernel here. "
        "To stop, interrupt the kernel (■ or Ctrl-C): the weights are kept."
    )


def test_the_reason_is_escaped(controls):
    controls.lock("The kernel raised <img src=x onerror=alert(1)>.")
    assert "<img" not in controls.note.value
    assert "<img" in ET.fromstring(controls.note.value).text


def test_a_pause_that_nobody_could_end_any_more_ends(controls, run):
    enter(controls.pause, True)
    controls.refresh(run)
    controls.lock("The kernel has changed.")
    assert not controls.control.pausing.is_set()
    assert controls.pause.description == "Pause"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("log", ChartOptions(log=True)),
        ("smooth", ChartOptions(smoothing=SMOOTHING)),
        ("mean", ChartOptions(epoch_mean=True)),
    ],
)
def test_each_switch_changes_its_option_and_asks_for_a_new_drawing(controls, name, options):
    for on, expected in ((True, options), (False, ChartOptions())):
        controls.redraw = False
        enter(getattr(controls, name), on)
        assert controls.options == expected
        assert controls.redraw
    assert asked(controls.control) == NOTHING


def test_a_refresh_that_shows_nothing_new_sends_nothing(controls, run):
    sent = []
    for one in open_widgets().values():
        one.observe(lambda change: sent.append((change["name"], change["new"])))
    controls.refresh(run)
    assert sent == []
    run.learning_rate.add(5, 0.5)
    controls.refresh(run)
    assert sent == [("value", 0.5)]


def test_every_control_can_be_reached_with_the_keyboard_and_has_a_name(controls):
    # Native buttons and inputs: a front end puts them into the order of Tab by itself.
    kinds = {type(one).__name__ for one in controls.widgets}
    assert kinds == {"Button", "ToggleButton", "FloatText"}
    names = [one.description for one in controls.widgets]
    assert names == ["Stop", "Pause", "learning rate", "× ½", "× 2", "log axis", "smooth", "epoch mean"]
    tips = [one.tooltip for one in controls.widgets if one is not controls.rate]
    assert all(tips)
    assert len(set(tips)) == len(tips)
    assert [one.tabbable for one in controls.widgets if getattr(one, "tabbable", None) is not None] == []


def test_closing_leaves_no_widget_open():
    before = open_widgets()
    controls = Controls(Control())
    assert len(open_widgets()) > len(before)
    controls.close()
    assert open_widgets() == before
