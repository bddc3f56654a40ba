"""Buttons that are clicked in the middle of a cell in JupyterLab, whichever way Lab sends widget messages."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest

from .browser_rig import OUTPUT, Lab, choose, in_a_browser, open_notebook, running_browser, running_lab, wait_until

pytestmark = in_a_browser

# Another Python whose kernel is to be tried, for example one of those that `make test-matrix` makes.
KERNEL_PYTHON = os.environ.get("TPU_MAGIC_KERNEL_PYTHON", sys.executable)
PANEL = """
import time
import ipywidgets
from IPython.display import display
from colab_tpu_magic.training.main_thread import current_place, run_on_main
from colab_tpu_magic.training.message_pump import pump_for

shell, clicks, toggles = get_ipython(), [], []
stop, pause, train = (ipywidgets.Button(description="Stop"), ipywidgets.ToggleButton(description="Pause"),
                      ipywidgets.Button(description="Train"))
stop.on_click(lambda _: clicks.append(time.time()))
pause.observe(lambda change: toggles.append(time.time()), "value")
place = current_place(shell)

def training():
    pump = pump_for(shell, [stop, pause])
    clicks.clear(), toggles.clear()
    print("[looping]", flush=True)
    deadline, paused = time.monotonic() + 20, 0
    while not clicks and time.monotonic() < deadline:
        pump.poll()
        if len(toggles) > paused:
            paused = len(toggles)
            print(f"[pause {paused} {toggles[-1]}]", flush=True)
        time.sleep(0.002)
    print(f"[stopped {clicks[0] if clicks else 0}]", flush=True)

train.on_click(lambda _: run_on_main(shell, training, place))
display(ipywidgets.HBox([stop, pause, train]))
"""
CELLS = (PANEL + "training()", "print('[after', len(clicks), 'clicks]')")
SETTINGS = {
    "defaults": {},
    "no-subshells": {"commsOverSubshells": "disabled"},
    "subshell-per-target": {"commsOverSubshells": "perCommTarget"},
    "subshell-per-comm": {"commsOverSubshells": "perComm"},
}


@pytest.fixture(scope="module")
def lab_and_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Any]]:
    """One Lab and one browser for all settings."""
    folder = tmp_path_factory.mktemp("notebooks")
    with running_lab(folder, KERNEL_PYTHON) as lab, running_browser() as context:
        yield lab, context


def click_until(cell: Any, button: str, sign: str) -> float:
    """Click a button, wait for a sign in the output, and return the seconds until its handler ran."""
    clicked = time.time()
    cell.locator(f'.widget-button:has-text("{button}"), .widget-toggle-button:has-text("{button}")').first.click()
    wait_until(lambda: sign in output_of(cell), 10, f"{sign} after a click on {button}")
    handled = re.findall(rf"{re.escape(sign)} ([\d.]+)\]", output_of(cell))[-1]
    return float(handled) - clicked


def output_of(cell: Any) -> str:
    """Return what a cell has printed."""
    return "".join(cell.locator(f"{OUTPUT} pre").all_inner_texts())


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.timeout(120)
def test_clicks_in_mid_cell_and_in_a_training_that_a_click_started(lab_and_browser, name):
    lab, context = lab_and_browser
    notebook = f"{name}.ipynb"
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    # Without the name of a kernel, Lab would ask for one.
    made = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Any"}})
    nbformat.write(made, lab.folder / notebook)
    lab.set_settings("apputils-extension/kernels-settings", SETTINGS[name])
    page = open_notebook(context, lab, notebook)
    first, second = (page.locator(".jp-CodeCell").nth(number) for number in (0, 1))

    choose(page, "Run", "Run All Cells")
    wait_until(lambda: "[looping]" in output_of(first), 30, "the cell to loop")
    # Two changes of one widget: the second is only sent when the front end heard that the first was handled.
    delays = [click_until(first, "Pause", "[pause 1"), click_until(first, "Pause", "[pause 2")]
    assert output_of(second) == ""
    assert page.locator('.jp-Notebook-ExecutionIndicator[data-status="busy"]').count() == 1
    delays.append(click_until(first, "Stop", "[stopped"))
    wait_until(lambda: "[after 1 clicks]" in output_of(second), 10, "the queued cell")

    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=10_000)
    first.locator('.widget-button:has-text("Train")').click()
    wait_until(lambda: output_of(first).count("[looping]") == 2, 10, "the training that a click started")
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="busy"]', timeout=5_000)
    first.locator('.widget-button:has-text("Stop")').click()
    wait_until(lambda: output_of(first).count("[stopped") == 2, 10, "the training to stop")
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=10_000)
    assert "[stopped 0]" not in output_of(first)
    page.close()
    lab.end_kernel(notebook)
    print(f"{name}: clicks were handled after {', '.join(f'{one:.2f}' for one in delays)} s")
    assert min(delays) < 1.0, delays
