"""The buttons and fields of a running training: what they show, and what a click asks for.

A handler may run on the thread that trains or on another one, as the kernel pleases; so it
sets a flag and does nothing else. The thread that trains acts on the flags, and `Controls.refresh`
shows on that thread what has come of them.
"""

from __future__ import annotations

import math
import threading
from html import escape
from typing import TYPE_CHECKING, Any

from .chart_options import ChartOptions

if TYPE_CHECKING:
    from ..training.control import Control
    from ..training.run import Run

SMOOTHING = 0.75
OTHER_WAY = "To stop, interrupt the kernel (■ or Ctrl-C): the weights are kept."


class Controls:
    """The row of controls of one training.

    Args:
        control: Gets what is asked for.

    Attributes:
        box: The widget to show.
        widgets: The widgets that send messages.
        options: How the chart is to be drawn.
        redraw: Whether `options` have changed since it was last set to False.
    """

    def __init__(self, control: Control) -> None:
        from ipywidgets import HTML, Button, FloatText, HBox, Layout, ToggleButton, VBox

        self.control = control
        self.options = ChartOptions()
        self.redraw = False
        self._complaint = ""
        self._rate = 0.0
        self._showing_on: int | None = None
        # One layout for all of a width: each is a message to the front end of its own.
        layouts = {width: Layout(width=width, margin="2px 4px 2px 0") for width in ("56px", "86px", "110px", "200px")}

        def button(kind: Any, text: str, tip: str, width: str, **settings: Any) -> Any:
            return kind(description=text, tooltip=tip, layout=layouts[width], **settings)

        self.stop = button(
            Button,
            "Stop",
            "End the fit after this step; the weights are kept",
            "110px",
            icon="stop",
            button_style="danger",
        )
        self.pause = button(ToggleButton, "Pause", "Wait after this step, until pressed again", "110px", icon="pause")
        self.rate = FloatText(
            description="learning rate",
            continuous_update=False,
            layout=layouts["200px"],
            style={"description_width": "90px"},
        )
        self.half = button(Button, "× ½", "Halve the learning rate from the next step on", "56px")
        self.double = button(Button, "× 2", "Double the learning rate from the next step on", "56px")
        self.log = button(ToggleButton, "log axis", "Draw the values on a logarithmic axis", "86px")
        self.smooth = button(ToggleButton, "smooth", "Draw a running mean over the curve of the training", "86px")
        self.mean = button(
            ToggleButton, "epoch mean", "Draw the mean since the epoch began, as Keras reports it", "110px"
        )
        self.note = HTML(layout=Layout(margin="0", display="none"))
        self.acting = (self.stop, self.pause)
        self.rating = (self.rate, self.half, self.double)
        self.drawing = (self.log, self.smooth, self.mean)
        self.widgets = (*self.acting, *self.rating, *self.drawing)
        row = HBox(list(self.widgets), layout=Layout(flex_flow="row wrap", align_items="center", margin="0"))
        self.box = VBox([row, self.note], layout=Layout(margin="0"))
        self._connect()

    def _connect(self) -> None:
        self.stop.on_click(lambda _: self.control.stopping.set())
        self.pause.observe(lambda change: self._set_pause(change["new"]), "value")
        self.rate.observe(lambda change: self._typed(change["new"]), "value")
        self.half.on_click(lambda _: self._want(self._rate / 2))
        self.double.on_click(lambda _: self._want(self._rate * 2))
        for switch in self.drawing:
            switch.observe(lambda _: self._set_options(), "value")

    def lock(self, reason: str) -> None:
        """Grey everything out where no click can arrive, and say why.

        Args:
            reason: Why, in a sentence.
        """
        if self.stop.disabled:
            return
        for widget in self.widgets:
            widget.disabled = True
        # Nobody could resume it.
        self.pause.value = False
        self._name_pause()
        self._say(f"{reason} {OTHER_WAY}")

    def refresh(self, run: Run) -> None:
        """Show what has come of the clicks: on the thread that trains, when the chart is drawn."""
        control = self.control
        if control.stopping.is_set() and not self.stop.disabled:
            self.stop.description = "Stopping…"
            for widget in (*self.acting, *self.rating):
                widget.disabled = True
        self._name_pause()
        locked = bool(control.rate_lock) or control.stopping.is_set()
        if self.rate.disabled != locked:
            for widget in self.rating:
                widget.disabled = locked
        self._say(
            f"The learning rate cannot be set here: {control.rate_lock}." if control.rate_lock else self._complaint
        )
        if run.learning_rate.values and control.wanted_rate is None:
            self._show_rate(run.learning_rate.values[-1])

    def close(self) -> None:
        """Close every widget of the row."""
        for widget in (*self.widgets, self.note, self.box.children[0], self.box):
            close_widget(widget)

    def _say(self, text: str) -> None:
        html = f'<span style="font-size:12px;opacity:.8" role="status">{escape(text)}</span>' if text else ""
        if self.note.value != html:
            self.note.value = html
            self.note.layout.display = None if text else "none"

    def _show_rate(self, rate: float) -> None:
        self._rate = rate
        short = float(f"{rate:.4g}")
        if self.rate.value != short:
            self._showing_on = threading.get_ident()
            try:
                self.rate.value = short
            finally:
                self._showing_on = None

    def _typed(self, rate: float) -> None:
        # The field also changes when it is shown what is; a person may type at that moment on another thread.
        if self._showing_on != threading.get_ident():
            self._want(rate)

    def _want(self, rate: float) -> None:
        possible = math.isfinite(rate) and rate > 0
        self._complaint = "" if possible else "A learning rate is a number above 0: the one before is kept."
        if possible:
            # Kept here too: a second "× ½" may come when the first is done but not yet shown.
            self._rate = self.control.wanted_rate = rate

    def _name_pause(self) -> None:
        paused = self.pause.value
        if (text := "Resume" if paused else "Pause") != self.pause.description:
            self.pause.description, self.pause.icon = text, "play" if paused else "pause"

    def _set_pause(self, paused: bool) -> None:
        if paused:
            self.control.pausing.set()
        else:
            self.control.pausing.clear()

    def _set_options(self) -> None:
        self.options = ChartOptions(
            log=self.log.value, smoothing=SMOOTHING if self.smooth.value else 0.0, epoch_mean=self.mean.value
        )
        self.redraw = True


def close_widget(widget: Any) -> None:
    """Close a widget with its layout and style, which may be closed already."""
    for part in (widget, widget.layout, getattr(widget, "style", None)):
        if part is not None:
            part.close()
