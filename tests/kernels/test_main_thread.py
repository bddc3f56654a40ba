"""A button that starts a long function on the kernel's main thread, in a real kernel."""

from __future__ import annotations

import pytest

from .front_end import FrontEnd
from .kernel_rig import Kernel
from .panel import SETUP

pytestmark = pytest.mark.kernel

# What starts is set by each test, under the one button that the front end knows.
BUTTON = """
starter = ipywidgets.Button()
starter.on_click(lambda _: run_on_main(shell, started, place))
print(starter.model_id, ours.model_id)
"""


@pytest.fixture(scope="module")
def front_end(shared_kernel: Kernel) -> FrontEnd:
    """A front end that has shown the panel."""
    return FrontEnd(shared_kernel)


@pytest.fixture(scope="module")
def shown(front_end: FrontEnd) -> str:
    """The cell that showed the panel."""
    cell = front_end.execute(SETUP + BUTTON)
    front_end.wait_for_replies(cell)
    return cell


def click_starter(front_end: FrontEnd, shown: str, function: str) -> None:
    """Click the button that starts a function, with nothing heard before."""
    front_end.kernel.run(f"clicks.clear()\n{function}")
    starter = front_end.text_of(shown).split()[0]
    del front_end.heard[front_end.heard.index(front_end.about(shown, "stream")[-1]) + 1 :]
    front_end.click(starter)


def ended(front_end: FrontEnd, shown: str) -> bool:
    return "idle" in front_end.states_of(shown)[-1:] and len(front_end.states_of(shown)) > 1


def test_function_shows_the_kernel_busy_and_prints_under_the_panel(front_end, shown):
    click_starter(front_end, shown, "def started():\n    print('trained')")
    front_end.wait_for(lambda: "trained" in front_end.text_of(shown) and ended(front_end, shown))
    assert front_end.states_of(shown)[-2:] == ["busy", "idle"]


def test_clicks_are_handled_while_the_function_runs(front_end, shown):
    click_starter(front_end, shown, "def started():\n    poll_until_clicked(2)\n    print('both came')")
    ours = front_end.text_of(shown).split()[1]
    front_end.wait_for(lambda: "looping" in front_end.text_of(shown))
    waiting = front_end.execute("order.append('after')")
    front_end.click(ours)
    front_end.click(ours)
    front_end.wait_for(lambda: "both came" in front_end.text_of(shown) and ended(front_end, shown))
    front_end.wait_for_replies(waiting)
    assert front_end.kernel.value("order") == "['after']"


def test_error_of_the_function_is_shown_under_the_panel(front_end, shown):
    click_starter(front_end, shown, "def started():\n    raise OSError('no data')")
    front_end.wait_for(lambda: front_end.about(shown, "error") and ended(front_end, shown))
    assert front_end.about(shown, "error")[0]["content"]["evalue"] == "no data"


def test_stop_button_interrupts_the_function_and_the_kernel_lives_on(front_end, shown):
    click_starter(front_end, shown, "def started():\n    print('started', flush=True)\n    time.sleep(30)")
    front_end.wait_for(lambda: "started" in front_end.text_of(shown))
    front_end.kernel.interrupt()
    front_end.wait_for(lambda: front_end.about(shown, "error") and ended(front_end, shown))
    assert front_end.about(shown, "error")[0]["content"]["ename"] == "KeyboardInterrupt"
    assert front_end.kernel.value("1 + 1") == "2"


def test_next_cell_prints_under_itself_again(front_end, shown):
    click_starter(front_end, shown, "def started():\n    print('trained')")
    front_end.wait_for(lambda: "trained" in front_end.text_of(shown) and ended(front_end, shown))
    assert front_end.kernel.run("print('here')").stdout == "here\n"


def test_function_asked_for_in_mid_cell_runs_after_the_cell(front_end, shown):
    cell = front_end.execute("run_on_main(shell, lambda: order.append('later')); order.append('cell')")
    front_end.wait_for_replies(cell)
    assert front_end.kernel.value("order[-2:]") == "['cell', 'later']"
