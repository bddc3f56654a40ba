"""The training panel in JupyterLab and Chromium, by clicks only, and what is left of it without a kernel."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import pytest

from .browser_rig import (
    OUTPUT,
    Lab,
    choose,
    in_a_browser,
    open_notebook,
    open_without_kernel,
    running_browser,
    running_lab,
    wait_until,
)

pytestmark = in_a_browser

NOTEBOOK = "panel.ipynb"
CELLS = (
    "%load_ext colab_tpu_magic\n%tpu_connect --simulate v2-8",
    """import keras, numpy as np
x = np.random.default_rng(0).random((4000, 20)).astype("float32")
y = (x.sum(axis=1) > 10).astype("int32")
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(2, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])""",
    "%tpu_panel model x y --validation x y --epochs 4",
)
PANEL = len(CELLS) - 1
TALL, NARROW = {"width": 1280, "height": 1500}, {"width": 700, "height": 1500}


@dataclass
class Seen:
    """What the browser showed."""

    hints: list[str] = field(default_factory=list)
    refused: str = ""
    train_when_refused: bool = True
    fields_while_training: list[bool] = field(default_factory=list)
    stopped: str = ""
    all_rows: list[str] = field(default_factory=list)
    colours: list[list[str]] = field(default_factory=list)
    rows_with_one_hidden: list[str] = field(default_factory=list)
    overlaps: int = -1
    cell: str = ""
    reopened: str = ""
    reopened_rows: list[str] = field(default_factory=list)
    reopened_pictures: int = 0
    reopened_sessions: int = -1
    saved: nbformat.NotebookNode = field(default_factory=nbformat.v4.new_notebook)


class PanelPage:
    """The panel's cell in a page, and a hand to click with."""

    def __init__(self, page: Any, pictures: Path) -> None:
        self.page = page
        self.pictures = pictures
        self.cell = page.locator(".jp-CodeCell").nth(PANEL)

    def button(self, text: str) -> Any:
        return self.cell.locator(f"{OUTPUT} button:has-text('{text}')").first

    def type_into(self, label: str, value: int | str) -> None:
        one = self.cell.locator(f".widget-inline-hbox:has(label:text-is('{label}')) input").first
        one.fill(str(value))
        one.press("Enter")

    def tick(self, label: str) -> None:
        self.cell.locator(f".widget-checkbox label:has-text('{label}') input").first.click()

    def status(self) -> str:
        told = self.cell.locator("[role=status]")
        return "\n".join(told.all_inner_texts())

    def train(self, times: int) -> None:
        self.button("Train").click()
        self.wait_for_run(times)

    def wait_for_run(self, times: int) -> None:
        wait_until(lambda: len(self.table()) == times, 60, f"run {times} in the table")

    def table(self) -> list[str]:
        """Return the rows of the comparison, each as its text."""
        return [" ".join(row.split()) for row in self.cell.locator(f"{TABLE} tbody tr").all_inner_texts()]

    def colours(self) -> list[str]:
        marks = self.cell.locator(f"{TABLE} tbody td:first-child path").all()
        return [mark.get_attribute("stroke") for mark in marks]

    def overlaps(self) -> int:
        """Count texts of the first column that reach over the left edge of the second."""
        return int(
            self.cell.locator(f"{TABLE} tbody tr").evaluate_all(
                """rows => rows.filter(row => {
                    const range = document.createRange(); range.selectNodeContents(row.cells[0]);
                    return range.getBoundingClientRect().right > row.cells[1].getBoundingClientRect().left + 1;
                }).length"""
            )
        )

    def picture(self, name: str) -> None:
        self.cell.evaluate("node => node.scrollIntoView({block: 'start'})")
        self.page.mouse.move(0, 0)
        self.page.screenshot(path=self.pictures / f"panel-{name}.png")


TABLE = "table[aria-label='The runs compared']"


def write(folder: Path) -> None:
    kernel = {"kernelspec": {"name": "python3", "display_name": "Any"}}
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / NOTEBOOK)


def use(panel: PanelPage, found: Seen) -> None:
    """Train three times, stop one of them, hide another, ask for the cell."""
    panel.button("Train").wait_for(timeout=90_000)
    wait_until(lambda: panel.button("Train").is_enabled(), 10, "the form to be filled")
    panel.picture("form")
    found.hints.append(panel.cell.inner_text())

    panel.train(1)
    panel.tick("auto")
    panel.type_into("batch size", 50)
    wait_until(lambda: "divide" in panel.status(), 10, "the message")
    found.refused, found.train_when_refused = panel.status(), panel.button("Train").is_enabled()
    panel.picture("refused")
    panel.type_into("batch size", 32)
    wait_until(lambda: panel.button("Train").is_enabled(), 10, "the message to go")
    found.hints.append(panel.cell.inner_text())
    panel.train(2)

    panel.type_into("batch size", 256)
    panel.type_into("epochs", 5000)
    panel.button("Train").click()
    panel.button("Stop").wait_for(timeout=30_000)
    wait_until(lambda: re.search(r"\b([2-9]|\d\d+) / 5,?000", panel.cell.inner_text()), 60, "the first epochs")
    fields = panel.cell.locator(".widget-text input, .widget-dropdown select").all()
    found.fields_while_training = [one.is_enabled() for one in fields if one.is_visible()]
    panel.picture("training")
    panel.button("Stop").click()
    panel.wait_for_run(3)
    found.stopped = panel.status()
    found.all_rows, found.overlaps = panel.table(), panel.overlaps()
    found.colours.append(panel.colours())
    panel.picture("compared")

    panel.tick("batch 32,")
    panel.wait_for_run(2)
    found.rows_with_one_hidden = panel.table()
    found.colours.append(panel.colours())
    panel.button("copy as cell").click()
    area = panel.cell.locator("textarea")
    area.wait_for(timeout=10_000)
    found.cell = area.input_value()
    panel.picture("copied")
    panel.tick("batch 32,")
    panel.wait_for_run(3)


def look_at_other_sizes_and_colours(panel: PanelPage) -> None:
    """Leave pictures of a narrow window and of the dark theme for a person to look at."""
    page = panel.page
    page.keyboard.press("Control+b")
    page.set_viewport_size(NARROW)
    panel.picture("narrow")
    page.set_viewport_size(TALL)
    page.click('.lm-MenuBar-itemLabel:text-is("Settings")')
    page.hover('.lm-Menu-itemLabel:text-is("Theme")')
    page.click('.lm-Menu-itemLabel:text-is("JupyterLab Dark")')
    page.wait_for_selector("body[data-jp-theme-light='false']", state="attached", timeout=10_000)
    page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=20_000)
    panel.picture("dark")


@pytest.fixture(scope="module")
def seen(artifacts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """Use the panel once in the browser, save, end the kernel, open the notebook again."""
    folder = tmp_path_factory.mktemp("notebooks")
    write(folder)
    found = Seen()
    with running_lab(folder) as lab, running_browser() as context:
        page = open_notebook(context, lab, NOTEBOOK)
        page.set_viewport_size(TALL)
        choose(page, "Run", "Run All Cells")
        panel = PanelPage(page, artifacts)
        use(panel, found)
        look_at_other_sizes_and_colours(panel)
        choose(page, "File", "Save Notebook")
        page.wait_for_selector(".jp-mod-dirty", state="detached", timeout=20_000)
        page.close()
        lab.end_kernel(NOTEBOOK)
        found.saved = nbformat.read(folder / NOTEBOOK, as_version=4)
        open_again(context, lab, artifacts, found)
    yield found
    shutil.rmtree(folder, ignore_errors=True)


def open_again(context: Any, lab: Lab, pictures: Path, found: Seen) -> None:
    """Open the saved notebook in a page without a kernel."""
    page = open_without_kernel(context, lab, NOTEBOOK)
    panel = PanelPage(page, pictures)
    panel.cell.locator(f"{OUTPUT} svg").first.wait_for(state="visible", timeout=20_000)
    found.reopened = panel.cell.inner_text()
    found.reopened_rows = panel.table()
    found.reopened_pictures = panel.cell.locator(f"{OUTPUT} svg path").count()
    found.reopened_sessions = len(lab.sessions(NOTEBOOK))
    panel.picture("reopened")


@pytest.mark.timeout(240)
def test_the_form_says_what_the_batch_comes_to(seen):
    auto, typed = seen.hints
    assert "= 8 replicas ×" in auto
    assert "63 steps an epoch" in auto
    assert "125 steps an epoch" in typed
    assert "What the rules will change" in auto


def test_a_batch_that_does_not_divide_is_refused_until_it_is_mended(seen):
    assert "batch size 50 does not divide over 8 replicas" in seen.refused
    assert not seen.train_when_refused


def test_fields_are_locked_while_a_run_lasts(seen):
    # The one enabled field is the learning rate of the running training.
    assert len(seen.fields_while_training) >= 8
    assert seen.fields_while_training.count(True) == 1


def test_three_batch_sizes_are_compared_and_the_stopped_run_is_one_of_them(seen):
    assert [row.split(",")[0] for row in seen.all_rows] == ["batch 64", "batch 32", "batch 256"]
    assert "stopped" in seen.all_rows[2]
    assert "Training stopped" in seen.stopped
    assert len(set(seen.colours[0])) == 3


def test_long_names_do_not_lie_over_the_next_column(seen):
    assert seen.overlaps == 0


def test_a_hidden_run_is_left_out_and_the_others_keep_their_colours(seen):
    assert [row.split(",")[0] for row in seen.rows_with_one_hidden] == ["batch 64", "batch 256"]
    assert seen.colours[1] == [seen.colours[0][0], seen.colours[0][2]]


def test_the_cell_to_copy_holds_what_the_form_says(seen):
    first, *_, last = seen.cell.splitlines()
    assert first == "%%tpu_fit --batch-size 256 --seed 0"
    assert last == "model.fit(x, y, epochs=5000, validation_data=(x, y))"


def test_reopened_without_a_kernel_the_comparison_is_there(seen):
    assert seen.reopened_sessions == 0
    assert seen.reopened_rows == seen.all_rows
    assert seen.reopened_pictures >= 6
    assert not any(one.output_type == "error" for cell in seen.saved.cells for one in cell.get("outputs", []))
