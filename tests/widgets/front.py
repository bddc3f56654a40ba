"""Do to a widget what a front end does, and see which widgets there are, on ipywidgets 7 and 8."""

from __future__ import annotations

from typing import Any


def click(button: Any) -> None:
    """Click a button; a click on a greyed one never leaves the front end."""
    assert not button.disabled
    button._handle_custom_msg({"event": "click"}, [])


def enter(widget: Any, value: Any) -> None:
    """Change the value of a field or a switch."""
    assert not widget.disabled
    widget.set_state({"value": value})


def open_widgets() -> dict[str, Any]:
    """Return the widgets that are not closed, by their id."""
    from ipywidgets.widgets import widget

    # 7 keeps them in the class; the same name warns in 8.
    return dict(widget._instances if hasattr(widget, "_instances") else widget.Widget.widgets)
