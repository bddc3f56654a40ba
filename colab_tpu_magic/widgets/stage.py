"""Where a dashboard is shown: in the output of a cell that keeps a picture, or inside another widget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

WIDGET_MIME = "application/vnd.jupyter.widget-view+json"


class Stage(Protocol):
    """Shows a widget while a run lasts.

    Attributes:
        keeps_picture: Whether a picture of the run stays where the widget was.
    """

    keeps_picture: bool

    def show(self, box: Any, text: str) -> None:
        """Show a widget; ``text`` stands for it where there are none."""

    def finish(self, make_bundle: Callable[[], dict[str, str]]) -> None:
        """Take the widget away; the bundle may stay in its place."""


class CellOutput:
    """The output of the running cell: the picture of the run replaces the widget, and stays."""

    keeps_picture = True

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, box: Any, text: str) -> None:
        """Display the widget under the running cell."""
        from IPython.display import display

        # ipywidgets 7 displays itself and drops the display_id, so the bundle is made here.
        bundle = {
            "text/plain": text,
            WIDGET_MIME: {"version_major": 2, "version_minor": 0, "model_id": box.model_id},
        }
        self._handle = display(bundle, raw=True, display_id=True)

    def finish(self, make_bundle: Callable[[], dict[str, str]]) -> None:
        """Put the picture in the widget's place, in the same output."""
        self._handle.update(make_bundle(), raw=True)


class InsideWidget:
    """A box of another widget, empty before the run and after it.

    Args:
        box: An ipywidgets box.
    """

    keeps_picture = False

    def __init__(self, box: Any) -> None:
        self._box = box

    def show(self, box: Any, text: str) -> None:
        """Put the widget into the box."""
        self._box.children = (box,)

    def finish(self, make_bundle: Callable[[], dict[str, str]]) -> None:
        """Empty the box."""
        self._box.children = ()
