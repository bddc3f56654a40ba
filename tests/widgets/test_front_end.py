"""Whether the front end keeps up."""

import pytest
from ipywidgets import HTML

from colab_tpu_magic.widgets.front_end import FrontEnd


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def asked():
    """A front end that is asked for the first time."""
    clock, source, target = Clock(), HTML(), HTML()
    front_end = FrontEnd(source, target, clock)
    clock.now += 2.5
    front_end.ask()
    return clock, source, target, front_end


def test_nothing_is_asked_in_the_first_seconds():
    clock, source = Clock(), HTML()
    front_end = FrontEnd(source, HTML(), clock)
    clock.now += 1.9
    front_end.ask()
    assert source.placeholder == "0"


def test_a_prompt_answer_lets_the_chart_be_drawn_as_often_as_it_likes(asked):
    clock, source, target, front_end = asked
    assert source.placeholder == "1"
    clock.now += 0.2
    target.placeholder = "1"
    assert front_end.pause_seconds() == 0.0
    clock.now += 1.9
    front_end.ask()
    assert source.placeholder == "1"
    clock.now += 0.2
    front_end.ask()
    assert source.placeholder == "2"


def test_a_late_answer_spaces_the_drawings_by_its_lag_and_is_asked_again_at_once(asked):
    clock, source, target, front_end = asked
    clock.now += 1.5
    assert front_end.pause_seconds() == 1.5
    target.placeholder = "1"
    assert front_end.pause_seconds() == 1.5
    front_end.ask()
    assert source.placeholder == "2"
    clock.now += 0.1
    target.placeholder = "2"
    assert front_end.pause_seconds() == 0.0


def test_a_front_end_that_has_gone_is_sent_a_drawing_every_five_seconds(asked):
    clock, source, target, front_end = asked
    target.placeholder = "1"
    clock.now += 2.0
    front_end.ask()
    clock.now += 60.0
    front_end.ask()
    assert source.placeholder == "2"
    assert front_end.pause_seconds() == 5.0


def test_one_that_never_answers_slows_nothing_and_is_left_in_peace(asked):
    clock, source, target, front_end = asked
    clock.now += 5.1
    assert front_end.pause_seconds() == 0.0
    clock.now += 10.0
    front_end.ask()
    assert source.placeholder == "1"


def test_an_answer_to_an_older_question_is_not_taken_for_one_to_the_newest(asked):
    clock, source, target, front_end = asked
    target.placeholder = "1"
    clock.now += 2.0
    front_end.ask()
    clock.now += 3.0
    target.placeholder = "1"
    assert front_end.pause_seconds() == 3.0
