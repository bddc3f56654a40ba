"""The live view of a run: widgets while it trains in a notebook, lines of text in a terminal."""

from __future__ import annotations

import time
import warnings
from collections import deque
from importlib.util import find_spec
from typing import Any

from ..training.run import Run
from .header import HEADER_HEIGHT, header_html
from .static import run_bundle
from .svg import chart_height, chart_svg
from .text import PHASES, changes_text, epoch_line, run_summary

WIDGET, TEXT, CHANGES, NONE = "widget", "text", "changes", "none"
MIN_INTERVAL_SECONDS = 0.25
MAX_DRAW_SHARE = 0.01
# Drawings a little late keep to the beat: a caller that comes every 0.25 s must not miss its turn by a millisecond.
SLACK_SECONDS = 0.05
WIDGET_MIME = "application/vnd.jupyter.widget-view+json"


def choose_view_kind(shell: Any) -> str:
    """Return ``"widget"`` for a shell with a kernel and ipywidgets, ``"text"`` for everything else.

    Args:
        shell: What ``get_ipython()`` returned, None outside IPython.
    """
    if getattr(shell, "kernel", None) is None:
        return TEXT
    return WIDGET if find_spec("ipywidgets") is not None else TEXT


class LiveView:
    """Show a run while it trains and leave a static picture behind.

    The caller changes the run and calls `update` as often as it likes: the view draws at most four
    times a second, and less often when drawing would cost more than one percent of the time.
    Call `finish` in a ``finally``.

    Args:
        run: The run to show.
        kind: ``"widget"``, ``"text"``, ``"changes"`` (only what was changed, at the end) or ``"none"``.

    Example:
        >>> view = LiveView(Run("this machine's CPU"), kind="none")
        >>> view.show(), view.update(), view.finish()
        (None, None, None)
    """

    def __init__(self, run: Run, kind: str = WIDGET) -> None:
        if kind not in (WIDGET, TEXT, CHANGES, NONE):
            msg = f"kind {kind!r} is not known. Expected: {WIDGET!r}, {TEXT!r}, {CHANGES!r} or {NONE!r}."
            raise ValueError(msg)
        self.run = run
        self.kind = kind
        self.draws = 0
        self._next_draw = 0.0
        self._draw_seconds = 0.0
        self._epoch = 0
        self._epoch_start = 0
        self._samples: deque[tuple[float, int, int]] = deque(maxlen=12)
        self._rate: float | None = None
        self._handle: Any = None
        self._widgets: tuple[Any, ...] = ()
        self._finished = False

    def show(self) -> None:
        """Show the view, before the first step is compiled."""
        if self.kind == WIDGET:
            self._show_widgets()
        elif self.kind == TEXT:
            _print(f"{self.run.device}: {PHASES['compiling']}")

    def update(self, force: bool = False) -> None:
        """Draw the run as it is now, unless the last drawing is too recent.

        Args:
            force: Draw now. For changes of phase, not for every step.
        """
        if self._finished or self.kind in (CHANGES, NONE):
            return
        if self.kind == TEXT:
            self._print_finished_epoch()
            return
        start = time.perf_counter()
        if self._handle is None or (start < self._next_draw and not force):
            return
        try:
            self._draw(start)
        except Exception as error:
            # Hours of training must not end because of a picture.
            self._next_draw = float("inf")
            warnings.warn(f"The live view stopped: {error!r}. The training goes on.", stacklevel=2)
            return
        spent = time.perf_counter() - start
        self._draw_seconds = (self._draw_seconds + spent) / 2 if self.draws > 1 else spent
        due = self._next_draw if start - self._next_draw < SLACK_SECONDS else start
        self._next_draw = due + max(MIN_INTERVAL_SECONDS, self._draw_seconds / MAX_DRAW_SHARE)

    def finish(self) -> None:
        """Replace the live view by the static picture, in the same output; print the summary in a terminal."""
        if self._finished:
            return
        self._finished = True
        if self.kind == TEXT:
            self._print_finished_epoch()
            if self.run.epoch_step:
                _print(epoch_line(self.run))
            _print(run_summary(self.run))
        if self.kind == CHANGES:
            _print(changes_text(self.run.changes))
            _print("verbose in the call shows Keras' own bar; leave it out to see the live chart.")
        if self._handle is not None:
            try:
                self._handle.update(self._bundle(), raw=True)
            finally:
                self._close_widgets()

    @property
    def seconds_per_draw(self) -> float:
        """What a drawing costs the training, seconds."""
        return self._draw_seconds

    def steps_per_second(self) -> float | None:
        """Training steps a second over the last drawings of an epoch, None before there are two."""
        if len(self._samples) >= 2:
            (start, first, _), (end, last, _) = self._samples[0], self._samples[-1]
            self._rate = (last - first) / (end - start) if end > start else self._rate
        return self._rate

    def _show_widgets(self) -> None:
        from IPython.display import display
        from ipywidgets import HTML, Layout, VBox

        html = header_html(self.run, None)
        header = HTML(html, layout=Layout(height=f"{HEADER_HEIGHT}px", margin="0"))
        chart = HTML(chart_svg(self.run), layout=Layout(height=f"{chart_height(self.run)}px", margin="0"))
        box = VBox([header, chart], layout=Layout(overflow="hidden"))
        self._widgets = (header, chart, box)
        # ipywidgets 7 displays itself and drops the display_id, so the bundle is made here.
        bundle = {
            "text/plain": f"Training on {self.run.device}. The live view needs a front end with widgets.",
            WIDGET_MIME: {"version_major": 2, "version_minor": 0, "model_id": box.model_id},
        }
        self._handle = display(bundle, raw=True, display_id=True)

    def _draw(self, now: float) -> None:
        header, chart, _ = self._widgets
        self._sample(now)
        header.value = header_html(self.run, self.steps_per_second())
        if self.run.step or self.draws:
            height = f"{chart_height(self.run)}px"
            if chart.layout.height != height:
                chart.layout.height = height
            chart.value = chart_svg(self.run)
        self.draws += 1

    def _sample(self, now: float) -> None:
        """Remember when which step was reached; forget it when an epoch or a validation came between."""
        run = self.run
        if run.phase != "training":
            self._samples.clear()
            return
        if self._samples and self._samples[-1][2] != run.epoch:
            self._samples.clear()
        self._samples.append((now, run.step, run.epoch))

    def _print_finished_epoch(self) -> None:
        """Print the line of the epoch before, once, when the next one has begun."""
        run = self.run
        if run.epoch == self._epoch:
            return
        boundary = run.step - run.epoch_step
        if self._epoch:
            _print(epoch_line(run, self._epoch, self._epoch_start, boundary))
        self._epoch, self._epoch_start = run.epoch, boundary

    def _bundle(self) -> dict[str, str]:
        """Return the static picture, or the text alone: a picture must not hide how the training ended."""
        try:
            return run_bundle(self.run)
        except Exception as error:
            warnings.warn(f"The static picture could not be drawn: {error!r}.", stacklevel=3)
            return {"text/plain": run_summary(self.run)}

    def _close_widgets(self) -> None:
        for widget in self._widgets:
            for part in (widget, widget.layout, getattr(widget, "style", None)):
                if part is not None:
                    part.close()
        self._widgets = ()


def _print(text: str) -> None:
    """Print at once, also to a terminal that cannot write × or →."""
    try:
        print(text, flush=True)
    except UnicodeEncodeError:
        print(text.encode("ascii", "replace").decode("ascii"), flush=True)
