"""Start a real Jupyter kernel on this very Python, run cells in it and collect what they put out."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty
from typing import Any

from jupyter_client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager, KernelManager

START_TIMEOUT_SECONDS = 60
CELL_TIMEOUT_SECONDS = 240
INTERPRETER = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]


class ThisPython(KernelSpecManager):
    """Offer one kernel: the Python that runs the tests, whatever else is registered on the machine."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(argv=INTERPRETER, display_name="This Python", language="python")


@dataclass
class CellResult:
    """What one cell put out: streams, displays in their final state, and its error."""

    stdout: str = ""
    stderr: str = ""
    displays: list[dict[str, Any]] = field(default_factory=list)
    updates: int = 0
    error: str = ""
    error_name: str = ""
    seconds: float = 0.0
    pager: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)

    def take(self, message: dict[str, Any]) -> None:
        """Add one message of the kernel's output channel."""
        self.messages.append(message)
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            setattr(self, content["name"], getattr(self, content["name"]) + content["text"])
        elif kind in ("display_data", "execute_result"):
            place = content.get("transient", {}).get("display_id")
            if place:
                self._places[place] = len(self.displays)
            self.displays.append(content["data"])
        elif kind == "update_display_data":
            self.updates += 1
            place = content["transient"]["display_id"]
            if place in self._places:
                self.displays[self._places[place]] = content["data"]
        elif kind == "error":
            self.error_name = content["ename"]
            self.error = f"{content['ename']}: {content['evalue']}"

    @property
    def html(self) -> str:
        """All HTML and SVG that is on show when the cell has ended."""
        return "\n".join(data.get("text/html", "") + data.get("image/svg+xml", "") for data in self.displays)

    @property
    def text(self) -> str:
        """All plain text on show: standard output and the text of each display."""
        return self.stdout + "\n".join(data.get("text/plain", "") for data in self.displays)


class Kernel:
    """A running kernel and a client of it."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager = manager
        self.client = client

    def run(self, code: str, timeout: float = CELL_TIMEOUT_SECONDS, check: bool = True) -> CellResult:
        """Run a cell to its end.

        Args:
            code: The cell.
            timeout: Seconds to wait.
            check: Raise AssertionError when the cell raised.
        """
        started = time.monotonic()
        result = CellResult()
        for message in self.start(code, timeout):
            result.take(message)
        result.seconds = time.monotonic() - started
        reply = self._reply(timeout)
        if reply.get("status") == "aborted":
            # After an error a kernel drops what comes before it has looked at its queue (ipykernel 6.17).
            return self.run(code, timeout, check)
        result.pager = "\n".join(
            page["data"].get("text/plain", "") for page in reply.get("payload", []) if "data" in page
        )
        assert not (check and result.error), f"{code}\n{result.error}\n{result.stderr}"
        return result

    def start(self, code: str, timeout: float = CELL_TIMEOUT_SECONDS) -> Iterator[dict[str, Any]]:
        """Run a cell and yield its output messages as they come, until the kernel is idle again."""
        self._parent = self.client.execute(code)
        deadline = time.monotonic() + timeout
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except Empty:
                assert self.manager.is_alive(), "the kernel died"
                assert time.monotonic() < deadline, f"the cell did not end in {timeout:.0f} s"
                continue
            if message["parent_header"].get("msg_id") != self._parent:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return
            yield message

    def value(self, expression: str) -> str:
        """Return the repr of an expression in the kernel."""
        return self.run(f"print(repr(({expression})))").stdout.strip()

    def interrupt(self) -> None:
        """Send the signal that the stop button sends."""
        self.manager.interrupt_kernel()

    def _reply(self, timeout: float) -> dict[str, Any]:
        while True:
            message = self.client.get_shell_msg(timeout=timeout)
            if message["parent_header"].get("msg_id") == self._parent:
                return message["content"]


@contextmanager
def running_kernel(**environment: str) -> Iterator[Kernel]:
    """Start a kernel and end it again.

    Args:
        **environment: Variables to add to its environment.
    """
    manager = KernelManager(kernel_spec_manager=ThisPython())
    manager.start_kernel(env=os.environ | environment)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=START_TIMEOUT_SECONDS)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def notebook_kernel_manager() -> AsyncKernelManager:
    """Return a manager for nbclient that starts this very Python."""
    return AsyncKernelManager(kernel_spec_manager=ThisPython())
