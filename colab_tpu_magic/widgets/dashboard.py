"""The dashboard in a notebook's output: controls, numbers and chart while it trains, a picture after."""

from __future__ import annotations

import time
import warnings
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from ..training.main_thread import run_on_main
from ..training.message_pump import MessagePump, pump_for
from ..training.run import Run
from .chart_options import ChartOptions
from .controls import Controls, close_widget
from .front_end import FrontEnd
from .header import HEADER_HEIGHT, header_html
from .picture import warm_up
from .stage import CellOutput, Stage
from .static import run_bundle
from .svg import chart_height, chart_svg
from .text import run_summary

if TYPE_CHECKING:
    from ..training.control import Control

MIN_INTERVAL_SECONDS = 0.25
# A chart that stands still for longer looks like a training that hangs.
MAX_INTERVAL_SECONDS = 2.0
MAX_DRAW_SHARE = 0.005
# Drawings a little late keep to the beat: a caller that comes every 0.25 s must not miss its turn by a millisecond.
SLACK_SECONDS = 0.05


class Dashboard:
    """Show a run with core widgets, in one output of a fixed height.

    Args:
        run: The run to show.
        control: Gets what the controls ask for; None shows no controls.
        shell: The IPython shell whose kernel delivers the clicks.
        stage: Where to show it; in the output of the running cell when None.
    """

    def __init__(self, run: Run, control: Control | None, shell: Any, stage: Stage | None = None) -> None:
        from ipywidgets import HTML, Layout, VBox

        self.run = run
        self.draws = 0
        self.seconds_per_draw = 0.0
        self._next_draw = 0.0
        self._drawn: tuple[Any, ...] = ()
        self._samples: deque[tuple[float, int, int]] = deque(maxlen=12)
        self._rate: float | None = None
        self.controls = Controls(control) if control is not None else None
        self.pump: MessagePump | None = None
        self._front_end: FrontEnd | None = None
        self._header = HTML(header_html(run, None), layout=Layout(height=f"{HEADER_HEIGHT}px", margin="0"))
        self._chart = HTML(chart_svg(run), layout=Layout(height=f"{chart_height(run)}px", margin="0"))
        parts = [self._header, self._chart]
        if self.controls is not None:
            parts.insert(0, self.controls.box)
            self.pump = pump_for(shell, [*self.controls.widgets, self._header])
            if self.pump.reason:
                self.controls.lock(self.pump.reason)
            else:
                self._front_end = FrontEnd(self._chart, self._header)
        self.box = VBox(parts, layout=Layout(overflow="hidden"))
        self._shell = shell
        self._stage = stage if stage is not None else CellOutput()
        self._stage.show(self.box, f"Training on {run.device}. The live view needs a front end with widgets.")
        warm_up()

    def listen(self) -> None:
        """Let the clicks through that have arrived, and show what has come of those before."""
        if self.pump is None or self.controls is None:
            return
        self.pump.poll_now()
        if not self.pump.reason:
            self.controls.refresh(self.run)
        if self._front_end is not None:
            self._front_end.ask()

    def update(self, force: bool = False) -> None:
        """Draw the run as it is now, unless the last drawing is too recent and nothing was switched."""
        start = time.perf_counter()
        switched = self.controls is not None and self.controls.redraw
        if start < self._next_draw and not force and not switched:
            return
        # Of this thread alone: on a busy machine a drawing takes long without costing much.
        began = time.thread_time()
        self._draw(start)
        spent = time.thread_time() - began
        self.seconds_per_draw = (self.seconds_per_draw + spent) / 2 if self.draws > 1 else spent
        due = self._next_draw if start - self._next_draw < SLACK_SECONDS else start
        interval = min(max(MIN_INTERVAL_SECONDS, self.seconds_per_draw / MAX_DRAW_SHARE), MAX_INTERVAL_SECONDS)
        slow = self._front_end.pause_seconds() if self._front_end is not None else 0.0
        self._next_draw = due + max(interval, slow)

    def finish(self) -> None:
        """Put the static picture where the widgets were.

        Who clicked Stop waits for the cell to end: the PNG, which takes a tenth of a second and
        which only other readers of the notebook need, then follows when the cell has ended.
        """
        stopped = self.controls is not None and self.controls.control.stopping.is_set()
        later = stopped and self._stage.keeps_picture and hasattr(getattr(self._shell, "kernel", None), "io_loop")
        try:
            self._stage.finish(partial(self._bundle, with_png=not later))
        finally:
            self._close()
        if later:
            run_on_main(self._shell, partial(self._stage.finish, self._bundle))

    def steps_per_second(self) -> float | None:
        """Training steps a second over the last drawings of an epoch, None before it is known."""
        if len(self._samples) >= 2:
            (start, first, _), (end, last, _) = self._samples[0], self._samples[-1]
            self._rate = (last - first) / (end - start) if end > start else self._rate
        elif self._samples and (milliseconds := sum(self.run.latest_step_ms or ())) > 0:
            # An epoch may be shorter than the time between two drawings.
            self._rate = 1000 / milliseconds
        return self._rate

    def _draw(self, now: float) -> None:
        run, controls = self.run, self.controls
        self._sample(now)
        if controls is not None:
            controls.redraw = False
            if self.pump is not None and not self.pump.reason:
                controls.refresh(run)
            elif self.pump is not None:
                controls.lock(self.pump.reason)
        self._header.value = header_html(run, self.steps_per_second(), run.latest_step_ms)
        options = controls.options if controls is not None else None
        # Only what has changed is drawn and sent again: a chart without a new point is the same chart.
        state = (options, run.phase == "compiling", _points(run))
        if state != self._drawn and (run.step or self.draws):
            self._drawn = state
            height = f"{chart_height(run)}px"
            if self._chart.layout.height != height:
                self._chart.layout.height = height
            self._chart.value = chart_svg(run, options=options) if options is not None else chart_svg(run)
        self.draws += 1

    def _sample(self, now: float) -> None:
        """Remember when which step was reached; forget it when an epoch, a validation or a pause came between."""
        run = self.run
        if run.phase != "training":
            self._samples.clear()
            return
        if self._samples and self._samples[-1][2] != run.epoch:
            self._samples.clear()
        self._samples.append((now, run.step, run.epoch))

    def _bundle(self, with_png: bool = True) -> dict[str, str]:
        """Return the static picture, or the text alone: a picture must not hide how the training ended."""
        try:
            options = self.controls.options if self.controls is not None else ChartOptions()
            return run_bundle(self.run, options, with_png)
        except Exception as error:
            warnings.warn(f"The static picture could not be drawn: {error!r}.", stacklevel=3)
            return {"text/plain": run_summary(self.run)}

    def _close(self) -> None:
        if self.controls is not None:
            self.controls.close()
        if self._front_end is not None:
            self._front_end.close()
        for widget in (self._header, self._chart, self.box):
            close_widget(widget)


def _points(run: Run) -> tuple[int, int]:
    """Return what changes when the chart has a new point: the step of the last sample and the epochs validated."""
    train = max((series.steps[-1] for series in run.train.values() if series.steps), default=0)
    return train, max((len(series.steps) for series in run.validation.values()), default=0)
