"""`%tpu_panel` and `%tpu_runs` in a real kernel: clicks as a front end sends them, and what the lines answer."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .front_end import FrontEnd
from .kernel_rig import Kernel, running_kernel

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

SETUP = """
%load_ext colab_tpu_magic
%tpu_connect --simulate 2 --backend jax
import time
import colab_tpu_magic as tpu
import keras
import numpy as np

x = np.random.default_rng(0).normal(size=(512, 8)).astype("float32")
y = (x[:, 0] > 0).astype("int32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
"""
SHOW = "panel = %tpu_panel model x y --validation x y --epochs 2\npanel"


class Shown:
    """A panel that a front end has shown.

    Attributes:
        front_end: Who shows it.
        cell: The request of the cell that shows it.
        comms: The widgets' ids, by their descriptions.
    """

    def __init__(self, front_end: FrontEnd) -> None:
        self.front_end = front_end
        self.cell = front_end.execute(SHOW)
        front_end.wait_for_replies(self.cell)
        self.comms = self.widgets_since(0)

    def widgets_since(self, index: int) -> dict[str, str]:
        """Return the ids of the widgets that the kernel made after so many messages."""
        states = [
            (one["content"]["comm_id"], one["content"]["data"]["state"])
            for one in self.front_end.heard[index:]
            if one["msg_type"] == "comm_open"
        ]
        return {state["description"]: comm for comm, state in states if state.get("description")}

    def updates_since(self, index: int) -> list[dict[str, Any]]:
        """Return the changes of widgets that the kernel sent after so many messages."""
        messages = [one for one in self.front_end.heard[index:] if one["msg_type"] == "comm_msg"]
        return [one["content"]["data"].get("state", {}) for one in messages]

    def states(self) -> list[str]:
        return self.front_end.states_of(self.cell)

    def pictures(self) -> list[str]:
        """Return the text of each comparison that was put under the panel, in their order."""
        return [one["content"]["data"]["text/plain"] for one in self.front_end.about(self.cell, "update_display_data")]

    def click_train_and_wait(self) -> None:
        before = len(self.states())
        self.front_end.click(self.comms["Train"])
        self.wait_for_run(before)

    def wait_for_run(self, before: int) -> None:
        self.front_end.wait_for(lambda: self.states()[before:][-1:] == ["idle"], 60)


@pytest.fixture(scope="module")
def trainer() -> Iterator[Kernel]:
    """A kernel with two simulated replicas, a small model and its data."""
    with running_kernel() as kernel:
        kernel.run(SETUP)
        yield kernel


@pytest.fixture
def shown(trainer: Kernel) -> Iterator[Shown]:
    """A new panel of that kernel's model; a training that a failed test has left is ended."""
    one = Shown(FrontEnd(trainer))
    yield one
    if one.states()[-1:] == ["busy"]:
        trainer.interrupt()


def test_panel_is_a_widget_with_a_sentence_below_it(shown):
    displays = shown.front_end.about(shown.cell, "display_data")
    assert "application/vnd.jupyter.widget-view+json" in displays[0]["content"]["data"]
    assert "No run yet: press Train" in displays[1]["content"]["data"]["text/plain"]
    assert displays[1]["content"]["transient"]["display_id"]
    assert {"Train", "copy as cell", "batch size", "= 2 replicas ×", "optimizer"} <= set(shown.comms)


def test_click_on_train_starts_a_run_and_shows_the_kernel_busy_meanwhile(shown):
    shown.click_train_and_wait()
    assert shown.states()[-2:] == ["busy", "idle"]
    assert "batch" in shown.pictures()[-1]
    kernel = shown.front_end.kernel
    assert kernel.value("[(run.status, run.epochs) for run in panel.runs]") == "[('completed', 2)]"
    assert not shown.front_end.about(shown.cell, "error")
    assert not shown.front_end.about(shown.cell, "stream")


def test_click_on_stop_ends_the_run_that_a_click_started(shown):
    front_end = shown.front_end
    front_end.change(shown.comms["epochs"], value=90_000)
    before, states = len(front_end.heard), len(shown.states())
    front_end.click(shown.comms["Train"])
    front_end.wait_for(
        lambda: any("/ 90,000" in str(state.get("value", "")) for state in shown.updates_since(before)), 60
    )
    assert shown.states()[states:][-1:] == ["busy"]
    front_end.click(shown.widgets_since(before)["Stop"])
    shown.wait_for_run(states)
    kernel = front_end.kernel
    assert kernel.value("panel.runs[0].status, 0 < panel.runs[0].epoch < 90_000") == "('stopped', True)"
    assert "Training stopped" in kernel.value("panel.message.value")
    assert kernel.value("panel.train_button.disabled, panel.form.epochs.disabled") == "(False, False)"


def test_click_on_train_in_mid_cell_waits_for_the_end_of_the_cell(shown):
    front_end = shown.front_end
    cell = front_end.execute("print('in it', flush=True); time.sleep(1); ended = time.perf_counter()")
    front_end.wait_for(lambda: "in it" in front_end.text_of(cell))
    before = len(shown.states())
    front_end.click(shown.comms["Train"])
    front_end.wait_for_replies(cell)
    shown.wait_for_run(before)
    assert front_end.kernel.value("[run.started > ended for run in panel.runs]") == "[True]"


def test_a_wrong_batch_by_message_disables_train_and_a_right_one_enables_it(shown):
    front_end = shown.front_end
    kernel = front_end.kernel
    kernel.run("panel.form.auto_batch.value = False")
    last = front_end.change(shown.comms["batch size"], value=33)
    front_end.wait_for(lambda: "idle" in front_end.states_of(last))
    assert "does not divide over 2 replicas" in kernel.value("panel.message.value")
    assert kernel.value("panel.train_button.disabled") == "True"
    last = front_end.change(shown.comms["= 2 replicas ×"], value=32)
    front_end.wait_for(lambda: "idle" in front_end.states_of(last))
    assert kernel.value("panel.form.batch.value, panel.train_button.disabled") == "(64, False)"


def test_train_in_a_cell_returns_the_run_and_updates_the_picture_under_the_panel(shown):
    kernel = shown.front_end.kernel
    result = kernel.run('run = panel.train(batch_size=64, learning_rate=0.01, name="by hand")\nrun.status')
    assert [data["text/plain"] for data in result.displays if len(data) == 1] == ["'completed'"]
    (update,) = (one for one in result.messages if one["msg_type"] == "update_display_data")
    assert "by hand" in update["content"]["data"]["text/plain"]
    assert result.stdout == ""
    error = kernel.run("panel.train(batch_size=33)", check=False)
    assert error.error.startswith("OptionError: --batch-size 33 does not divide over 2 replicas.")


@pytest.fixture(scope="module")
def three_runs(trainer: Kernel) -> list[int]:
    """The numbers of three runs in that kernel."""
    trainer.run("some = tpu.panel(model, x, y, epochs=1)")
    trainer.run("for size in (32, 64, 128): some.train(batch_size=size, name=f'rows {size}')")
    return list(eval(trainer.value("[run.number for run in some.runs]")))


def test_runs_lists_all_with_their_numbers(trainer, three_runs):
    told = trainer.run("%tpu_runs")
    for number, size in zip(three_runs, (32, 64, 128), strict=True):
        (line,) = [one for one in told.text.splitlines() if f"rows {size} " in one]
        assert line.split()[0] == str(number)
        assert "completed" in line and "1 / 1" in line
    assert told.html.count("<table") == 1


def test_runs_with_numbers_draws_those_over_each_other(trainer, three_runs):
    told = trainer.run(f"%tpu_runs {three_runs[0]} {three_runs[2]}")
    assert "rows 32" in told.text and "rows 128" in told.text and "rows 64" not in told.text
    (data,) = told.displays
    assert {"text/html", "image/png", "image/svg+xml", "text/plain"} <= set(data)


def test_runs_writes_the_series_to_a_file(trainer, three_runs, tmp_path):
    file = tmp_path / "runs.csv"
    told = trainer.run(f"%tpu_runs {three_runs[0]} {three_runs[1]} --csv {file}")
    assert told.stdout == f"Written: {file}\n"
    with Path(file).open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert {row["run"] for row in rows} == {"rows 32", "rows 64"}
    assert {"loss", "accuracy"} <= {row["metric"] for row in rows}
    last = [row for row in rows if (row["run"], row["metric"], row["kind"]) == ("rows 64", "loss", "train")][-1]
    shown = trainer.value("some.runs[1].step, some.runs[1].train['loss'].values[-1]")
    assert (int(last["step"]), float(last["value"])) == pytest.approx(eval(shown))


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("%tpu_runs 999", ("There is no run 999.", "Expected: numbers from 1 to", "Type: %tpu_runs")),
        ("%tpu_runs two", ("invalid int value: 'two'", "Type: %tpu_runs?")),
        (
            "%tpu_runs --csv /no/such/folder/runs.csv",
            ("There is no folder '/no/such/folder'", "Type: !mkdir -p /no/such/folder"),
        ),
        ("%tpu_runs --cvs runs.csv", ("--cvs", "Type: --csv, or %tpu_runs? for all")),
        ("%tpu_panel", ("required: target", "Type: %tpu_panel")),
        ("%tpu_panel model", ("a model and 0 data arguments", "Type: %tpu_panel model x y --validation x_val y_val")),
        ("%tpu_panel model x y y", ("a model and 3 data arguments", "Type: %tpu_panel model x y")),
        ("%tpu_panel modle x y", ("'modle' cannot be used", "Type: %tpu_panel model x y")),
        ("%tpu_panel x x y", ("ndarray is not a Keras model", "Expected: a compiled keras.Model")),
        ("%tpu_panel model x y --epochs 0", ("--epochs '0' cannot be used", "Type: --epochs 1")),
        ("%tpu_panel model x y --validation x y y y", ("validation_data has 4 parts", "Type: validation_data=")),
        ("%tpu_panel model (x for x in [x])", ("cannot be used", "Type: ")),
    ],
)
def test_wrong_lines_get_one_message_with_what_to_type(trainer, three_runs, line, parts):
    told = trainer.run(line, check=False)
    assert told.error_name == "UsageError" or told.stderr.startswith("UsageError")
    message = told.error + told.stderr
    for part in parts:
        assert part in message
    assert "Traceback" not in message
