"""The controls of a real `%%tpu_fit` cell, used by a front end's messages while it trains; and how such a cell ends."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from .front_end import FrontEnd
from .kernel_rig import CellResult, Kernel, running_kernel

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

COMPILING_SECONDS = 90.0
PICTURE = {"text/html", "image/svg+xml", "image/png", "text/plain"}
SETUP = """
%load_ext colab_tpu_magic
%tpu_connect --simulate 2 --backend jax
import time
import keras
import numpy as np
import colab_tpu_magic as tpu

x = np.random.default_rng(0).random((1_000, 4), dtype="float32")
y = (x.sum(axis=1) > 2).astype("float32")
order = []


class TellRate(keras.callbacks.Callback):
    told = None

    def on_epoch_end(self, epoch, logs=None):
        rate = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))
        if rate != self.told:
            self.told = rate
            print(f"[optimizer {rate:.6g}]", flush=True)


class SlowToTrace(keras.layers.Layer):
    slow = False

    def call(self, x):
        if self.slow:
            print("[tracing]", flush=True)
            time.sleep(1)
        return x


def make_model(*layers):
    model = keras.Sequential([keras.Input((4,)), *layers, keras.layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.SGD(0.5), "binary_crossentropy")
    return model


def fail(epoch, logs):
    if epoch == 3:
        raise OSError("disk full")
"""
FIT = """%%tpu_fit --batch-size 100 --learning-rate keep
model = make_model()
model.fit(x, y, epochs=1_000_000, callbacks=[TellRate()])
after = "the fit"
"""


class LiveFit:
    """A cell that trains, as a front end sees it.

    Args:
        front_end: What sends and hears.
        code: The cell.
    """

    def __init__(self, front_end: FrontEnd, code: str) -> None:
        self.front_end = front_end
        self.cell = front_end.execute(code)

    def said(self) -> str:
        """Return the numbers above the chart in words; empty before there are some."""
        headers = [str(one.get("value")) for one in self.front_end.widgets().values() if "HTML" in one["_model_name"]]
        labels = [re.search(r'role="group" aria-label="([^"]*)"', header) for header in headers]
        return next((label[1] for label in reversed(labels) if label), "")

    def place(self) -> tuple[int, ...]:
        """Return the epoch and the step that are shown."""
        said = re.search(r"epoch ([\d,]+) .*?step ([\d,]+)", self.said())
        assert said, self.said()
        return tuple(int(one.replace(",", "")) for one in said.groups())

    def wait(self, is_true: Any, seconds: float = 15.0) -> None:
        """Listen until a condition holds."""
        self.front_end.wait_for(is_true, seconds)

    def wait_for_training(self) -> None:
        """Listen until the first step is done and the field has the learning rate."""
        self.wait(lambda: self.said().startswith("training") and self.rate() > 0, COMPILING_SECONDS)

    def rate(self) -> float:
        """Return the learning rate in the field."""
        return float(self.front_end.widget("learning rate")[1]["value"])

    def press(self, name: str) -> None:
        """Click a button."""
        self.front_end.click(self.front_end.widget(name)[0])

    def enter(self, value: Any, *names: str) -> None:
        """Change a field or a switch."""
        self.front_end.change(self.front_end.widget(*names)[0], value=value)

    def printed(self) -> str:
        """Return what the cell has printed."""
        return self.front_end.text_of(self.cell)


@dataclass
class Used:
    """What the front end heard of one fit whose controls were all used.

    Attributes:
        first_rate: Learning rate in the field at first.
        quarter: The field after two quick clicks on × ½.
        after_nonsense: The field after a rate that cannot be one.
        paused: Epoch and step in the pause, and some time later.
        named: What was written on the button in the pause.
        drawn_log: Whether the chart was drawn anew when the switch was pressed in the pause.
        printed: What the cell printed.
        statuses: Status of the cell and of the queued one.
        next_cell: What the queued cell printed.
        output: What is left of the cell.
        open_widgets: Names of the widgets that are still open.
    """

    first_rate: float = 0.0
    quarter: float = 0.0
    after_nonsense: float = 0.0
    paused: list[tuple[int, ...]] = field(default_factory=list)
    named: str = ""
    drawn_log: bool = False
    printed: str = ""
    statuses: list[str] = field(default_factory=list)
    next_cell: str = ""
    output: CellResult = field(default_factory=CellResult)
    open_widgets: list[Any] = field(default_factory=list)


@pytest.fixture(scope="module")
def trained_kernel() -> Iterator[Kernel]:
    """A kernel with two simulated replicas, data and `make_model`."""
    with running_kernel() as kernel:
        kernel.run(SETUP)
        yield kernel


@pytest.fixture
def front_end(trained_kernel: Kernel) -> FrontEnd:
    """A front end of that kernel."""
    return FrontEnd(trained_kernel)


@pytest.fixture(scope="module")
def used(trained_kernel: Kernel) -> Used:
    """Use every control of one fit."""
    seen, front_end = Used(), FrontEnd(trained_kernel)
    fit = LiveFit(front_end, FIT)
    after = front_end.execute("print('[next]', tpu.last_run.status, after)")
    fit.wait_for_training()
    seen.first_rate = fit.rate()
    for _ in range(2):
        fit.press("× ½")
    fit.wait(lambda: fit.rate() == 0.125)
    seen.quarter = fit.rate()
    fit.wait(lambda: "[optimizer 0.125]" in fit.printed())
    fit.enter(0.0625, "learning rate")
    fit.wait(lambda: "[optimizer 0.0625]" in fit.printed())
    fit.enter(-1.0, "learning rate")
    fit.wait(lambda: fit.rate() == 0.0625)
    seen.after_nonsense = fit.rate()

    fit.enter(True, "Pause")
    fit.wait(lambda: fit.said().startswith("paused"))
    seen.paused.append(fit.place())
    later = time.monotonic() + 0.7
    fit.wait(lambda: time.monotonic() > later)
    seen.paused.append(fit.place())
    seen.named = front_end.widget("Pause", "Resume")[1]["description"]
    charts = chart_of(front_end)
    fit.enter(True, "log axis")
    fit.wait(lambda: chart_of(front_end) != charts)
    seen.drawn_log = True
    fit.enter(False, "Resume")
    fit.wait(lambda: fit.said().startswith("training") and fit.place() > seen.paused[-1])
    fit.press("Stop")
    front_end.wait_for_replies(fit.cell, after)

    seen.statuses = [(front_end.reply_to(one) or {})["status"] for one in (fit.cell, after)]
    seen.printed, seen.next_cell = fit.printed(), front_end.text_of(after)
    # The PNG follows when the cell has ended: who clicked Stop does not wait for it.
    front_end.wait_for(lambda: "image/png" in front_end.output_of(fit.cell).displays[0])
    seen.output = front_end.output_of(fit.cell)
    seen.open_widgets = list(front_end.widgets().values())
    return seen


def chart_of(front_end: FrontEnd) -> str:
    """Return the chart that is shown now."""
    values = [str(one.get("value")) for one in front_end.widgets().values()]
    return [value for value in values if value.startswith("<svg")][-1]


def kinds_left(output: CellResult) -> set[str]:
    """Return in which forms the one display of a cell is left."""
    (bundle,) = output.displays
    return set(bundle)


def test_optimizer_and_field_follow_the_rate_that_was_asked_for(used):
    assert (used.first_rate, used.quarter) == (0.5, 0.125)
    told = re.findall(r"optimizer ([\d.]+)", used.printed)
    # The first rate and the first of two quick clicks may have an epoch of their own or none.
    assert [rate for rate in told if rate not in ("0.5", "0.25")] == ["0.125", "0.0625"]


def test_run_and_model_have_the_rate_after_the_fit(used, trained_kernel):
    rate = trained_kernel.value("float(keras.ops.convert_to_numpy(model.optimizer.learning_rate))")
    assert float(rate) == 0.0625
    assert trained_kernel.value("tpu.last_run.learning_rate.values[-1]") == "0.0625"


def test_a_rate_that_cannot_be_one_is_not_set_and_the_field_shows_the_true_one(used):
    assert used.after_nonsense == 0.0625
    assert "-1" not in used.printed


def test_no_step_is_done_in_a_pause_and_the_chart_can_be_switched(used):
    assert used.paused[0] == used.paused[1]
    assert used.named == "Resume"
    assert used.drawn_log


def test_stop_ends_the_cell_without_an_error_and_the_queued_cell_runs(used):
    assert used.statuses == ["ok", "ok"]
    assert used.next_cell == "[next] stopped the fit\n"


def test_a_stopped_fit_leaves_the_picture_and_no_widget(used):
    assert kinds_left(used.output) == PICTURE
    assert "Training stopped" in used.output.html
    assert used.open_widgets == []


def test_an_error_aborts_the_queued_cell_and_leaves_the_picture(front_end, trained_kernel):
    fit = LiveFit(
        front_end,
        "%%tpu_fit --batch-size 100\nfailing = make_model()\n"
        "failing.fit(x, y, epochs=9, callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=fail)])",
    )
    queued = front_end.execute("order.append('queued')")
    front_end.wait_for(lambda: front_end.reply_to(fit.cell), COMPILING_SECONDS)
    front_end.wait_for_replies(fit.cell, queued)
    assert front_end.reply_to(fit.cell)["ename"] == "OSError"
    assert front_end.reply_to(queued)["status"] == "aborted"
    front_end.wait_for_end_of_aborting()
    assert trained_kernel.value("order, tpu.last_run.status") == "([], 'failed')"
    output = front_end.output_of(fit.cell)
    assert kinds_left(output) == PICTURE
    assert "disk full" in output.displays[0]["text/html"]
    assert front_end.widgets() == {}


def test_a_loss_that_is_no_number_is_named_in_the_picture(front_end):
    fit = LiveFit(front_end, "%%tpu_fit --batch-size 100\nmake_model().fit(x * np.nan, y, epochs=3);")
    front_end.wait_for(lambda: front_end.reply_to(fit.cell), COMPILING_SECONDS)
    front_end.wait_for_replies(fit.cell)
    output = front_end.output_of(fit.cell)
    assert front_end.reply_to(fit.cell)["status"] == "ok"
    assert kinds_left(output) == PICTURE
    assert "The loss is not a number" in output.html


def test_the_kernels_interrupt_leaves_the_picture_and_aborts_the_queued_cell(front_end, trained_kernel):
    fit = LiveFit(front_end, FIT)
    queued = front_end.execute("order.append('queued')")
    fit.wait_for_training()
    trained_kernel.interrupt()
    front_end.wait_for_replies(fit.cell, queued)
    assert front_end.reply_to(fit.cell)["ename"] == "KeyboardInterrupt"
    assert front_end.reply_to(queued)["status"] == "aborted"
    front_end.wait_for_end_of_aborting()
    assert trained_kernel.value("order, tpu.last_run.status") == "([], 'interrupted')"
    assert kinds_left(front_end.output_of(fit.cell)) == PICTURE
    assert front_end.widgets() == {}


def test_the_kernels_interrupt_in_a_pause_ends_the_fit(front_end, trained_kernel):
    fit = LiveFit(front_end, FIT)
    fit.wait_for_training()
    fit.enter(True, "Pause")
    fit.wait(lambda: fit.said().startswith("paused"))
    trained_kernel.interrupt()
    front_end.wait_for_replies(fit.cell)
    assert front_end.reply_to(fit.cell)["ename"] == "KeyboardInterrupt"
    front_end.wait_for_end_of_aborting()
    assert trained_kernel.value("tpu.last_run.status") == "'interrupted'"
    assert kinds_left(front_end.output_of(fit.cell)) == PICTURE


def test_the_kernels_interrupt_while_the_first_step_is_compiled_leaves_the_picture(front_end, trained_kernel):
    fit = LiveFit(
        front_end,
        "%%tpu_fit --batch-size 100\nlayer = SlowToTrace()\nslow = make_model(layer)\nlayer.slow = True\n"
        "slow.fit(x, y, epochs=1_000_000)",
    )
    fit.wait(lambda: "[tracing]" in fit.printed() and fit.rate() > 0, COMPILING_SECONDS)
    assert fit.said().startswith("compiling")
    trained_kernel.interrupt()
    front_end.wait_for(lambda: front_end.reply_to(fit.cell), COMPILING_SECONDS)
    front_end.wait_for_replies(fit.cell)
    assert front_end.reply_to(fit.cell)["ename"] == "KeyboardInterrupt"
    front_end.wait_for_end_of_aborting()
    trained_kernel.run("layer.slow = False")
    ended = trained_kernel.value("tpu.last_run.status, slow.predict(x[:3], verbose=0).shape")
    assert ended == "('interrupted', (3, 1))"
    output = front_end.output_of(fit.cell)
    assert kinds_left(output) == PICTURE
    assert "Training interrupted" in output.html
    assert front_end.widgets() == {}
