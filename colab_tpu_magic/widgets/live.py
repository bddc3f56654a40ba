"""The live view of a run: a dashboard while it trains in a notebook, lines of text in a terminal."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..training.run import Run
from .text import PHASES, changes_text, epoch_line, run_summary

if TYPE_CHECKING:
    from ..training.control import Control
    from .dashboard import Dashboard
    from .stage import Stage

WIDGET, TEXT, CHANGES, NONE = "widget", "text", "changes", "none"


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
    times a second, and less often when drawing would cost too much of the time. It calls `listen`
    when it can act on what the controls ask for, and `finish` in a ``finally``.

    Args:
        run: The run to show.
        kind: ``"widget"``, ``"text"``, ``"changes"`` (only what was changed, at the end) or ``"none"``.
        shell: The IPython shell whose kernel delivers the clicks, None outside IPython.
        stage: Where the dashboard is shown; in the output of the running cell when None.

    Example:
        >>> view = LiveView(Run("this machine's CPU"), kind="none")
        >>> view.show(), view.update(), view.finish()
        (None, None, None)
    """

    def __init__(self, run: Run, kind: str = WIDGET, shell: Any = None, stage: Stage | None = None) -> None:
        if kind not in (WIDGET, TEXT, CHANGES, NONE):
            msg = f"kind {kind!r} is not known. Expected: {WIDGET!r}, {TEXT!r}, {CHANGES!r} or {NONE!r}."
            raise ValueError(msg)
        self.run = run
        self.kind = kind
        self.shell = shell
        self.stage = stage
        self.dashboard: Dashboard | None = None
        self._broken = False
        self._epoch = 0
        self._epoch_start = 0
        self._finished = False

    def show(self, control: Control | None = None) -> None:
        """Show the view, before the first step is compiled.

        Args:
            control: Gets what the controls ask for; None shows no controls.
        """
        if self.kind == WIDGET:
            from .dashboard import Dashboard

            try:
                self.dashboard = Dashboard(self.run, control, self.shell, self.stage)
            except Exception as error:
                warnings.warn(f"There is no live view: {error!r}. The training goes on.", stacklevel=2)
        elif self.kind == TEXT:
            _print(f"{self.run.device}: {PHASES['compiling']}")

    def listen(self) -> None:
        """Let the clicks through that have arrived: about ten times a second is enough."""
        if self.dashboard is not None and not self._broken:
            self._guarded(self.dashboard.listen)

    def update(self, force: bool = False) -> None:
        """Draw the run as it is now, unless the last drawing is too recent.

        Args:
            force: Draw now. For changes of phase, not for every step.
        """
        if self._finished:
            return
        if self.kind == TEXT:
            self._print_finished_epoch()
        elif self.dashboard is not None and not self._broken:
            self._guarded(self.dashboard.update, force)

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
        if self.dashboard is not None:
            self.dashboard.finish()

    def _guarded(self, call: Any, *arguments: Any) -> None:
        try:
            call(*arguments)
        except Exception as error:
            # Hours of training must not end because of a picture.
            self._broken = True
            warnings.warn(f"The live view stopped: {error!r}. The training goes on.", stacklevel=3)

    def _print_finished_epoch(self) -> None:
        """Print the line of the epoch before, once, when the next one has begun."""
        run = self.run
        if run.epoch == self._epoch:
            return
        boundary = run.step - run.epoch_step
        if self._epoch:
            _print(epoch_line(run, self._epoch, self._epoch_start, boundary))
        self._epoch, self._epoch_start = run.epoch, boundary


def _print(text: str) -> None:
    """Print at once, also to a terminal that cannot write × or →."""
    try:
        print(text, flush=True)
    except UnicodeEncodeError:
        print(text.encode("ascii", "replace").decode("ascii"), flush=True)
