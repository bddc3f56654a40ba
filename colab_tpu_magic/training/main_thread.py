"""Run a function on the kernel's main thread when no cell is running, looking like a cell to the user."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .kernel_messages import parent_ident_of


@dataclass(frozen=True)
class OutputPlace:
    """The cell under which the output of a function belongs.

    Attributes:
        parent: The message that started the cell; empty for no cell.
        ident: Who sent it.
    """

    parent: Any = field(default_factory=dict)
    ident: Any = field(default_factory=list)


def current_place(shell: Any) -> OutputPlace:
    """Return where output goes now: a panel asks in the cell that shows it, and passes this to `run_on_main` later."""
    kernel: Any = getattr(shell, "kernel", None)
    try:
        return OutputPlace(kernel.get_parent("shell"), parent_ident_of(kernel))
    except (AttributeError, LookupError):  # no kernel; or ipykernel 7.0 on a thread that the user started
        return OutputPlace()


def run_on_main(shell: Any, function: Callable[[], Any], place: OutputPlace | None = None) -> None:
    """Have a function run on the kernel's main thread after what runs there now, and return at once.

    Front ends show the kernel as busy meanwhile. What the function prints and displays appears under the cell of
    ``place``; an exception is shown there as a traceback, and the stop button raises KeyboardInterrupt as in a
    cell. Without a kernel the function runs at once, and its exceptions are the caller's.

    Args:
        shell: The InteractiveShell, or None.
        function: Takes nothing; what it returns is dropped.
        place: From `current_place`; where output goes now when left out.

    Example:
        ::

            shell = get_ipython()
            place = current_place(shell)
            button.on_click(lambda _: run_on_main(shell, train, place))
    """
    kernel = getattr(shell, "kernel", None)
    loop = getattr(kernel, "io_loop", None)
    if loop is None:
        function()
        return
    # The one method of a loop that may be called from every thread: a click may arrive on a subshell's.
    loop.add_callback(_run, shell, function, place or current_place(shell))


def _run(shell: Any, function: Callable[[], Any], place: OutputPlace) -> None:
    try:
        with _output_at(shell, place), _busy(shell.kernel), _interruptible():
            try:
                function()
            except BaseException:  # as in a cell, where sys.exit() does not end the kernel either
                shell.showtraceback()
    except KeyboardInterrupt:
        pass  # It came when the function had ended, and would end the kernel.


@contextmanager
def _output_at(shell: Any, place: OutputPlace) -> Iterator[None]:
    before = current_place(shell)
    _flush()
    shell.kernel.set_parent(place.ident, place.parent, channel="shell")
    try:
        yield
    finally:
        shell.kernel.set_parent(before.ident, before.parent, channel="shell")


@contextmanager
def _busy(kernel: Any) -> Iterator[None]:
    kernel.send_response(kernel.iopub_socket, "status", {"execution_state": "busy"}, channel="shell")
    try:
        yield
    finally:
        _flush()
        kernel.send_response(kernel.iopub_socket, "status", {"execution_state": "idle"}, channel="shell")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let the stop button raise KeyboardInterrupt: between two cells, a kernel ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _flush() -> None:
    # On ipykernel 6.17 it is only then that text goes to the cell that is the parent.
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
