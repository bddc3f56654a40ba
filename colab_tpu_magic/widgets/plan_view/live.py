"""A plan while it is made: the stage, the time, the rows so far; in the same output the card takes its place."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from html import escape
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..live import NONE, TEXT, _print
from ..units import duration_text
from .static import plan_bundle, plan_html
from .strokes import BLUE
from .text import plan_text
from .words import STATUS_WORDS, needed_text, rates_text, row_label

if TYPE_CHECKING:
    from ...planner.plan import Plan, Progress
    from ...planner.row import Row

OUTPUT = "output"
REDRAW_SECONDS = 0.9
"""From one drawing to the next while nothing but the time has changed; a finished row is drawn at once."""
LEAVE = "Interrupt the kernel to keep what there is."


def view_kind(shell: Any, quiet: bool = False) -> str:
    """Return how a plan is shown: in an output of a kernel's cell, which needs no ipywidgets, or as text."""
    if quiet:
        return NONE
    return TEXT if getattr(shell, "kernel", None) is None else OUTPUT


class PlanView:
    """Show a plan while it is made, and its card at the end.

    It is what is called with the progress, some times a second. Used in a ``with`` statement, it leaves nothing
    behind after an error.

    Args:
        model_name: The model's name.
        kind: ``"output"`` (one that is replaced), ``"text"`` (lines as they come) or ``"none"``.
        clock: Returns seconds.

    Example:
        >>> with PlanView("net", "none") as view:
        ...     view.finish(None)
    """

    def __init__(self, model_name: str, kind: str = OUTPUT, clock: Callable[[], float] = time.monotonic) -> None:
        self.model_name = model_name
        self.kind = kind
        self._clock = clock
        self._handle: Any = None
        self._drawn: tuple[Any, ...] = ()
        self._drawn_at = 0.0
        self._broken = False
        self._expected: tuple[float, float] | None = None
        self._told: set[tuple[str, int, str]] = set()
        self._stage = ""

    def __enter__(self) -> PlanView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._handle is not None:
            # The message is what is left to read.
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)

    def __call__(self, progress: Progress) -> None:
        """Show where the plan stands."""
        progress = self._counted_down(progress)
        if self.kind == TEXT:
            self._tell(progress)
        elif self.kind == OUTPUT and not self._broken:
            shown = (progress.stage, progress.rows)
            if shown == self._drawn and self._clock() - self._drawn_at < REDRAW_SECONDS:
                return
            try:
                self._draw(progress)
            except Exception as error:
                # Minutes of compiling must not be lost because of a picture.
                self._broken = True
                warnings.warn(f"The plan is not shown while it is made: {error!r}.", stacklevel=2)
            self._drawn, self._drawn_at = shown, self._clock()

    def finish(self, plan: Plan | None) -> None:
        """Put the card in the place of the progress; print the text in a terminal."""
        if plan is None or self.kind == NONE:
            return
        if self.kind == TEXT:
            _print(plan_text(plan))
            return
        bundle = plan_bundle(plan)
        if self._handle is None:
            from IPython.display import display

            display(bundle, raw=True)
        else:
            self._handle.update(bundle, raw=True)

    def _counted_down(self, progress: Progress) -> Progress:
        """Return the progress with the time since the same expectation was heard first taken off it."""
        if progress.remaining is None:
            return progress
        if self._expected is None or self._expected[0] != progress.remaining:
            self._expected = progress.remaining, progress.elapsed
        return replace(progress, remaining=max(0.0, progress.remaining - (progress.elapsed - self._expected[1])))

    def _draw(self, progress: Progress) -> None:
        from IPython.display import display

        from ...planner.plan import Plan

        html = plan_html(Plan(self.model_name, progress.rows), progress=progress_html(progress))
        bundle = {"text/html": html, "text/plain": progress_line(progress)}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def _tell(self, progress: Progress) -> None:
        for row in progress.rows:
            key = (row.target, row.batch_size, row.precision)
            if row.status != "pending" and key not in self._told:
                self._told.add(key)
                _print(_row_line(row))
        if progress.stage != self._stage:
            self._stage = progress.stage
            _print(progress_line(progress))


def progress_line(progress: Progress) -> str:
    """Return where a plan stands as a line of text."""
    return " · ".join([progress.stage, *_times(progress)])


def progress_html(progress: Progress) -> str:
    """Return where a plan stands as HTML: the stage, the times, and how much of it is done."""
    stage = progress.stage[:1].upper() + progress.stage[1:]
    from ...planner.plan import ESTIMATE

    said = " · ".join([*_times(progress), LEAVE])
    bar = ""
    if progress.remaining is not None and progress.elapsed + progress.remaining > 0:
        done = min(0.98, progress.elapsed / (progress.elapsed + progress.remaining))
        bar = (
            '<div style="height:4px;border-radius:2px;background:rgba(128,128,128,.25);margin:6px 0 2px">'
            f'<div style="height:4px;border-radius:2px;background:{BLUE};width:{done:.0%}"></div></div>'
        )
    return (
        f'<div style="font-size:17px;line-height:1.4;font-weight:600">{escape(stage)} …</div>{bar}'
        f'<div style="opacity:.75;font-variant-numeric:tabular-nums">{escape(said)} {ESTIMATE}</div>'
    )


def _times(progress: Progress) -> list[str]:
    parts = [f"{duration_text(progress.elapsed)} so far"]
    if progress.remaining is not None and progress.remaining >= 1:
        parts.append(f"about {duration_text(progress.remaining)} more")
    return [*parts, f"then {progress.next}"] if progress.next else parts


def _row_line(row: Row) -> str:
    parts = [row_label(row, with_precision=bool(row.precision)), STATUS_WORDS.get(row.status, row.status)]
    if row.fits:
        parts += [needed_text(row), f"{rates_text(row.examples_per_second)} examples/s"]
    elif row.reason:
        parts.append(row.reason)
    return "  ".join(filter(None, parts))
