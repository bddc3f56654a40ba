"""Fixtures for tests of the live view without a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from colab_tpu_magic.training.control import Control
from colab_tpu_magic.training.run import Run
from colab_tpu_magic.widgets import dashboard
from colab_tpu_magic.widgets.dashboard import Dashboard

from .front import open_widgets


@dataclass
class Output:
    """The output of a cell: what was displayed in it, and by what it was replaced.

    Attributes:
        displayed: Bundle and options of each display.
        updates: Bundle and options of each update of the display.
        open_at_update: How many widgets were open when it was updated last.
    """

    displayed: list[tuple[Any, dict[str, Any]]] = field(default_factory=list)
    updates: list[tuple[Any, dict[str, Any]]] = field(default_factory=list)
    open_at_update: int = 0

    def display(self, bundle: Any, **options: Any) -> Output:
        """Stand in for IPython's display."""
        self.displayed.append((bundle, options))
        return self

    def update(self, bundle: Any, **options: Any) -> None:
        """Stand in for DisplayHandle.update."""
        self.updates.append((bundle, options))
        self.open_at_update = len(open_widgets())


class Pump:
    """A pump that delivers what the test has put into it.

    Attributes:
        reason: Why nothing can be delivered.
        messages: Handlers of the messages that wait.
    """

    def __init__(self) -> None:
        self.reason = ""
        self.messages: list[Callable[[], None]] = []

    def poll_now(self) -> int:
        """Run the handlers of the messages that wait."""
        waiting, self.messages = self.messages, []
        for handler in waiting:
            handler()
        return len(waiting)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that only the test moves."""
    now = SimpleNamespace(seconds=1000.0)
    for name in ("perf_counter", "thread_time"):
        monkeypatch.setattr(dashboard.time, name, lambda: now.seconds)
    return now


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch) -> Iterator[Output]:
    """The output of the running cell. Widgets that a test leaves open are closed after it."""
    pytest.importorskip("ipywidgets")
    import IPython.display

    one, before = Output(), set(open_widgets())
    monkeypatch.setattr(IPython.display, "display", one.display)
    monkeypatch.setattr(dashboard, "warm_up", lambda: None)
    yield one
    for name, widget in open_widgets().items():
        if name not in before:
            widget.close()


@pytest.fixture
def pump(monkeypatch: pytest.MonkeyPatch) -> Pump:
    """The pump of every dashboard that is made in the test."""
    one = Pump()
    monkeypatch.setattr(dashboard, "pump_for", lambda shell, widgets: one)
    return one


@pytest.fixture
def make_dashboard(output: Output, pump: Pump) -> Callable[..., Dashboard]:
    """Return a function that shows a run with controls that work."""
    return lambda run, control=None: Dashboard(run, control or Control(), None)


@pytest.fixture
def shown(output: Output) -> Callable[[Run], Dashboard]:
    """Return a function that shows a run without controls."""
    return lambda run: Dashboard(run, None, None)


@pytest.fixture
def one_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Connect to this machine's CPU for one test, on the backend that Keras has in this process."""
    import keras

    from colab_tpu_magic.session import Session, connect, session

    monkeypatch.setenv("KERAS_BACKEND", keras.config.backend())
    before = vars(session).copy()
    vars(session).update(vars(Session()))
    yield connect(backend=keras.config.backend(), simulate=1)
    vars(session).update(before)
