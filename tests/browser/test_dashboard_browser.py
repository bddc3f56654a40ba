"""The dashboard's controls in JupyterLab and Chromium, on one real fit; and the picture that stays."""

from __future__ import annotations

import re
import shutil
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pytest

from colab_tpu_magic.widgets.chart_panel import TRAIN_COLOUR

from .browser_rig import OUTPUT, choose, in_a_browser, open_without_kernel, running_browser, running_lab
from .dashboard_page import DashboardPage, choose_theme, open_dashboard

pytestmark = [*in_a_browser, pytest.mark.timeout(240)]

NOTEBOOK = "controls.ipynb"
CELLS = (
    """%load_ext colab_tpu_magic
%tpu_connect --simulate 2 --backend jax
import keras
import numpy as np
import colab_tpu_magic as tpu

x = np.random.default_rng(0).random((10_000, 20), dtype="float32")
y = (x.sum(axis=1) > 10).astype("int32")
model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(2, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])

class TellRate(keras.callbacks.Callback):
    told = None

    def on_epoch_end(self, epoch, logs=None):
        rate = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))
        if rate != self.told:
            self.told = rate
            print(f"[optimizer {rate:.6g}]", flush=True)
""",
    """%%tpu_fit --batch-size 100 --learning-rate keep
model.fit(x, y, epochs=90_000, validation_data=(x[:1000], y[:1000]), callbacks=[TellRate()])
ended = True""",
    """run = tpu.last_run
rates = list(dict.fromkeys(f"{rate:.6g}" for rate in run.learning_rate.values))
print("[next]", run.status, ended, rates, f"{float(keras.ops.convert_to_numpy(model.optimizer.learning_rate)):.6g}")""",
)
TRAINING, NEXT = 1, 2


@dataclass
class Seen:
    """What the browser showed, in the order in which it was seen.

    Attributes:
        drawings: The chart's SVG by what was switched on.
        rates: The field after each thing done to it.
        steps: (epoch, step) by moment.
        delays: Seconds from a click to what it did, as seen in the page.
        said: The numbers above the chart while it trains.
        tab_order: Names of the controls in the order in which Tab reaches them.
        next_cell: What the queued cell printed.
        printed: What the training cell printed.
        final: The training cell's output as HTML.
        saved: The notebook as it was saved.
        reopened: Text of the notebook opened without a kernel.
        reopened_svg: The picture in it.
        reopened_widgets: Widgets in it.
        exported: The notebook as nbconvert's HTML.
    """

    drawings: dict[str, str] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    steps: dict[str, tuple[int, int]] = field(default_factory=dict)
    delays: dict[str, float] = field(default_factory=dict)
    said: str = ""
    tab_order: list[str] = field(default_factory=list)
    next_cell: str = ""
    printed: str = ""
    final: str = ""
    saved: nbformat.NotebookNode = field(default_factory=nbformat.v4.new_notebook)
    reopened: str = ""
    reopened_svg: str = ""
    reopened_widgets: int = 0
    exported: str = ""


def switch_the_chart(board: DashboardPage, seen: Seen) -> None:
    """Switch the logarithmic axis on, then smoothing."""
    seen.drawings["plain"] = board.drawing()
    board.picture("dashboard-live-light")
    board.button("log axis").click()
    board.wait(lambda: not evenly_spaced(ticks_of(board.drawing())), "a logarithmic axis")
    seen.drawings["log"] = board.drawing()
    board.button("smooth").click()
    seen.delays["smooth"] = board.wait(lambda: faint_curves(board.drawing()), "smooth")
    seen.drawings["log and smooth"] = board.drawing()


def set_the_rate(board: DashboardPage, seen: Seen) -> None:
    """Halve the rate, halve it twice quickly, type one, and type one that cannot be."""
    seen.rates["first"] = board.rate()
    board.button("× ½").click()
    seen.delays["× ½"] = board.wait(lambda: board.rate() == 0.0005, "half the rate")
    board.button("× ½").dblclick()
    board.wait(lambda: board.rate() == 0.000125, "half the rate twice")
    seen.rates["three halves"] = board.rate()
    board.wait(lambda: "[optimizer 0.000125]" in board.printed(), "the optimizer to follow")
    board.enter_rate("0.002")
    seen.delays["typed rate"] = board.wait(lambda: "[optimizer 0.002]" in board.printed(), "the typed rate")
    board.enter_rate("-3")
    board.wait(lambda: board.rate() == 0.002, "the true rate again")
    seen.rates["after -3"] = board.rate()


def pause_and_resume(board: DashboardPage, seen: Seen) -> None:
    """Pause for more than a second, with a look at it, and go on."""
    board.button("Pause").click()
    seen.delays["pause"] = board.wait(lambda: "paused" in board.numbers(), "the pause")
    seen.steps["paused"] = board.place()
    board.picture("dashboard-paused-light")
    time.sleep(1.0)
    seen.steps["a second later"] = board.place()
    choose_theme(board.page, "Dark")
    board.picture("dashboard-paused-dark")
    board.button("Resume").click()
    seen.delays["resume"] = board.wait(lambda: board.place() > seen.steps["paused"], "training to go on")
    seen.steps["resumed"] = board.place()
    seen.said = board.numbers()
    board.picture("dashboard-live-dark")


def stop(board: DashboardPage, seen: Seen) -> None:
    """Go through the controls with Tab, stop with the space bar, and see the queued cell run."""
    seen.tab_order = board.tab_order(start=board.button("Stop"), times=7)
    board.button("Stop").press("Space")
    seen.delays["stop, until the next cell has run"] = board.wait(
        lambda: "[next]" in board.printed(NEXT), "the queued cell"
    )
    board.cell.locator(".jupyter-widgets").first.wait_for(state="detached", timeout=20_000)
    board.page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=20_000)
    seen.next_cell, seen.printed = board.printed(NEXT), board.printed()
    seen.final = board.cell.locator(".jp-OutputArea").first.inner_html()
    board.picture("dashboard-stopped-dark")


@pytest.fixture(scope="module")
def seen(artifacts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """Use every control of one fit, save the notebook, end its kernel, open it again and export it."""
    folder = tmp_path_factory.mktemp("notebooks")
    kernel = {"name": "python3", "display_name": "Any"}
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), folder / NOTEBOOK)
    found = Seen()
    with running_lab(folder) as lab, running_browser() as context:
        board = open_dashboard(context, lab, NOTEBOOK, TRAINING, artifacts)
        choose(board.page, "Run", "Run All Cells")
        board.wait_for_curves()
        time.sleep(2.0)
        for act in (switch_the_chart, set_the_rate, pause_and_resume, stop):
            act(board, found)
        choose(board.page, "File", "Save Notebook")
        board.page.wait_for_selector(".jp-mod-dirty", state="detached", timeout=20_000)
        board.page.close()
        lab.end_kernel(NOTEBOOK)
        found.saved = nbformat.read(folder / NOTEBOOK, as_version=4)

        again = DashboardPage(open_without_kernel(context, lab, NOTEBOOK), TRAINING, artifacts)
        chart = again.cell.locator(f"{OUTPUT} svg").first
        chart.wait_for(state="visible", timeout=20_000)
        found.reopened = again.page.locator(".jp-Notebook").inner_text()
        found.reopened_svg = chart.evaluate("node => node.outerHTML")
        found.reopened_widgets = again.page.locator(f"{OUTPUT} .jupyter-widgets").count()
        again.picture("dashboard-reopened-dark")
        choose_theme(again.page, "Light")
        again.picture("dashboard-reopened-light")

        found.exported = exported(folder / NOTEBOOK)
        page = context.new_page()
        page.set_content(found.exported)
        page.locator(".jp-OutputArea-output svg").first.scroll_into_view_if_needed()
        page.screenshot(path=artifacts / "dashboard-exported.png")
    yield found
    shutil.rmtree(folder, ignore_errors=True)


def exported(notebook: Path) -> str:
    """Return a notebook as the HTML that nbconvert makes of it."""
    from nbconvert import HTMLExporter

    html, _ = HTMLExporter().from_filename(str(notebook))
    return str(html)


def parsed(svg: str) -> ET.Element:
    """Return an SVG whose attributes may stand in any order; each page that cleans HTML has its own."""
    return ET.fromstring(re.sub(r' xmlns="[^"]*"', "", svg))


def ticks_of(svg: str) -> list[float]:
    """Return the values at the value axis of the first panel."""
    groups = [one for one in parsed(svg).iter("g") if one.get("text-anchor") == "end"]
    return [float(text.text or "nan") for text in groups[0]]


def evenly_spaced(ticks: list[float]) -> bool:
    """Return whether the ticks are those of a linear axis; a logarithmic one of a small range has the same."""
    gaps = [second - first for first, second in zip(ticks, ticks[1:], strict=False)]
    return max(gaps) - min(gaps) < 1e-6 * max(gaps)


def faint_curves(svg: str) -> int:
    """Return how many curves are drawn faint, as those are that a smooth one runs through."""
    paths = parsed(svg).iter("path")
    return sum(path.get("stroke") == TRAIN_COLOUR and path.get("opacity") is not None for path in paths)


def test_log_axis_changes_the_ticks_of_the_moving_chart(seen):
    assert evenly_spaced(ticks_of(seen.drawings["plain"]))
    assert not evenly_spaced(ticks_of(seen.drawings["log"]))


def test_smoothing_draws_a_second_curve_through_a_faint_one(seen):
    assert faint_curves(seen.drawings["plain"]) == faint_curves(seen.drawings["log"]) == 0
    assert faint_curves(seen.drawings["log and smooth"]) == 2


def test_field_run_and_optimizer_follow_the_buttons_and_the_keyboard(seen):
    assert seen.rates == {"first": 0.001, "three halves": 0.000125, "after -3": 0.002}
    for rate in ("0.000125", "0.002"):
        assert f"[optimizer {rate}]" in seen.printed
    assert "-3" not in seen.printed
    known, kept = (seen.next_cell.partition("[")[2].partition("]")[2].partition(end)[0] for end in ("]", "\n"))
    rates = re.findall(r"'([^']*)'", known)
    # Of two quick clicks the first may have its own steps or none.
    assert [one for one in rates if one != "0.00025"] == ["0.001", "0.0005", "0.000125", "0.002"]
    assert kept.split()[-1] == "0.002"


def test_no_step_is_done_during_a_pause_and_then_it_goes_on(seen):
    assert seen.steps["paused"] == seen.steps["a second later"]
    assert seen.steps["resumed"] > seen.steps["paused"]


def test_the_speed_is_known_although_an_epoch_is_short(seen):
    assert not re.search(r"steps/s –|examples/s –|run left –", seen.said)


def test_tab_reaches_every_control_in_the_order_in_which_they_stand(seen):
    assert seen.tab_order == ["Stop", "Pause", "learning rate", "× ½", "× 2", "log axis", "smooth", "epoch mean"]


def test_the_space_bar_on_stop_ends_the_fit_and_the_queued_cell_runs(seen):
    assert seen.next_cell.startswith("[next] stopped True ")


@pytest.mark.parametrize("where", ["final", "reopened_svg", "exported"])
def test_the_picture_that_stays_is_drawn_as_it_was_last(seen, where):
    svg = re.findall(r"<svg .*?</svg>", getattr(seen, where), re.DOTALL)
    (chart,) = (one for one in svg if "last steps" in one)
    assert not evenly_spaced(ticks_of(chart))
    assert faint_curves(chart) == 2


def test_the_saved_notebook_holds_the_picture_in_every_form_and_no_widget(seen):
    bundles = [output.data for output in seen.saved.cells[TRAINING].outputs if output.output_type == "display_data"]
    (bundle,) = bundles
    assert set(bundle) == {"text/html", "image/svg+xml", "image/png", "text/plain"}


@pytest.mark.parametrize("where", ["reopened", "exported"])
def test_without_a_kernel_there_are_numbers_and_changes(seen, where):
    for text in ("Training stopped", "Examples a second", "Paused", "changes for the TPU", "--batch-size keep"):
        assert text in getattr(seen, where)


def test_without_a_kernel_there_is_no_dead_widget(seen):
    assert seen.reopened_widgets == 0
    assert "Error displaying widget" not in seen.reopened
    assert "application/vnd.jupyter.widget-view+json" not in seen.exported


def test_a_click_is_answered_soon(seen):
    print("; ".join(f"{what} {seconds:.2f} s" for what, seconds in seen.delays.items()))
    # A fraction of a second on a machine that does nothing else.
    assert min(seen.delays.values()) < 2.0
