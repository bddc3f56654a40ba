"""The quickstart in JupyterLab and Chromium: a moving chart, and a picture that outlives the kernel.

What `kernels/test_quickstart.py` asks of the executed notebook is asked here of the one that JupyterLab saved.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pytest

from ..kernels.test_quickstart import (  # noqa: F401  collected here too
    test_changes_are_printed_with_reason_and_switch,
    test_connect_cell_says_what_trains,
    test_no_start_up_noise_of_the_frameworks_in_the_notebook,
    test_quickstart_learns_the_digits_and_shows_chart_and_changes,
    test_training_cell_is_left_with_a_picture_and_no_dead_widget,
)
from .browser_rig import (
    OUTPUT,
    choose,
    in_a_browser,
    open_notebook,
    open_without_kernel,
    running_browser,
    running_lab,
    wait_until,
)

NOTEBOOK = "01_quickstart.ipynb"
EPOCHS = 12
TRAINING_TIMEOUT_MS = 150_000

pytestmark = in_a_browser


@dataclass
class Seen:
    """What the browser showed, in the order in which it was seen."""

    charts: list[bytes] = field(default_factory=list)
    drawings: list[str] = field(default_factory=list)
    header: str = ""
    final: str = ""
    reopened: str = ""
    reopened_pictures: int = 0
    reopened_widgets: int = 0
    reopened_sessions: int = 0
    picture_size: dict[str, float] = field(default_factory=dict)
    saved: nbformat.NotebookNode = field(default_factory=nbformat.v4.new_notebook)


def copied(source: Path, folder: Path) -> int:
    """Copy the quickstart; return which code cell trains, from 0."""
    shutil.copy(source, folder / source.name)
    code = [cell for cell in nbformat.read(source, as_version=4).cells if cell.cell_type == "code"]
    (training,) = (number for number, cell in enumerate(code) if cell.source.startswith("%%tpu_fit"))
    assert f"EPOCHS = {EPOCHS}" in code[training].source
    return training


@pytest.fixture(scope="module")
def seen(root: Path, artifacts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """Run the quickstart once in the browser, save it, end its kernel, open it again."""
    folder = tmp_path_factory.mktemp("notebooks")
    training = copied(root / "notebooks" / NOTEBOOK, folder)
    found = Seen()
    with running_lab(folder) as lab, running_browser() as context:
        page = open_notebook(context, lab, NOTEBOOK)
        choose(page, "Run", "Run All Cells")
        cell = page.locator(".jp-CodeCell").nth(training)
        chart = cell.locator(f"{OUTPUT} .widget-html svg").last
        chart.locator("text:has-text('train, last steps')").first.wait_for(
            state="attached", timeout=TRAINING_TIMEOUT_MS
        )
        cell.locator(".jp-OutputArea").first.scroll_into_view_if_needed()
        for number in (1, 2):
            # Of the page and not of the chart: a chart that is drawn anew meanwhile is another element.
            area = cell.locator(f"{OUTPUT} .widget-vbox").first.bounding_box()
            found.charts.append(page.screenshot(clip=area, path=artifacts / f"quickstart-chart-{number}.png"))
            found.drawings.append(chart.evaluate("node => node.outerHTML"))
            found.header = cell.locator(OUTPUT).first.inner_text()
            page.screenshot(path=artifacts / f"quickstart-training-{number}.png")
            if number == 1:
                wait_until(lambda: chart.evaluate("node => node.outerHTML") not in found.drawings, 20, "another chart")
        cell.locator(".widget-html").first.wait_for(state="detached", timeout=TRAINING_TIMEOUT_MS)
        page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=60_000)
        found.final = cell.locator(".jp-OutputArea").first.inner_text()
        cell.evaluate("node => node.scrollIntoView({block: 'start'})")
        page.mouse.move(0, 0)
        page.screenshot(path=artifacts / "quickstart-finished.png")
        page.locator(".jp-WindowedPanel-outer").first.screenshot(path=artifacts / "quickstart-notebook.png")
        choose(page, "File", "Save Notebook")
        page.wait_for_selector(".jp-mod-dirty", state="detached", timeout=20_000)
        page.close()
        lab.end_kernel(NOTEBOOK)
        found.saved = nbformat.read(folder / NOTEBOOK, as_version=4)

        page = open_without_kernel(context, lab, NOTEBOOK)
        cell = page.locator(".jp-CodeCell").nth(training)
        cell.scroll_into_view_if_needed()
        picture = cell.locator(f"{OUTPUT} svg, {OUTPUT} img").first
        picture.wait_for(state="visible", timeout=20_000)
        found.reopened = page.locator(".jp-Notebook").inner_text()
        found.reopened_pictures = cell.locator(f"{OUTPUT} svg, {OUTPUT} img").count()
        found.reopened_widgets = page.locator(f"{OUTPUT} .jupyter-widgets").count()
        found.reopened_sessions = len(lab.sessions(NOTEBOOK))
        found.picture_size = picture.bounding_box() or {}
        page.screenshot(path=artifacts / "quickstart-reopened.png")
    yield found
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def executed(seen: Seen) -> nbformat.NotebookNode:
    """The notebook as JupyterLab saved it, for the tests of the quickstart in a kernel."""
    return seen.saved


@pytest.mark.timeout(240)
def test_chart_moves_while_the_cell_trains(seen):
    first, second = seen.drawings
    assert first != second
    assert seen.charts[0] != seen.charts[1]


def test_live_view_says_what_trains_and_how_far_it_is(seen):
    assert "8 simulated replicas (v2-8)" in seen.header
    assert f"{EPOCHS}" in seen.header


def test_finished_cell_shows_picture_and_changes(seen):
    assert "--batch-size keep" in seen.final
    assert "Error displaying widget" not in seen.final


def test_saved_notebook_holds_a_picture_and_no_widget_of_the_training(seen):
    (training,) = (cell for cell in seen.saved.cells if cell.source.startswith("%%tpu_fit"))
    kinds = {kind for output in training.outputs for kind in output.get("data", {})}
    assert kinds & {"image/png", "image/svg+xml", "text/html"}
    assert "application/vnd.jupyter.widget-view+json" not in kinds
    assert not any(output.output_type == "error" for cell in seen.saved.cells for output in cell.get("outputs", []))


def test_reopened_without_a_kernel_the_final_picture_is_there(seen):
    assert seen.reopened_sessions == 0
    assert seen.reopened_pictures >= 1
    assert seen.picture_size["width"] > 300 and seen.picture_size["height"] > 100
    assert seen.reopened_widgets == 0
    assert "Error displaying widget" not in seen.reopened
    assert "Test accuracy: 0.9" in seen.reopened
