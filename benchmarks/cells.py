"""Run cells in a real kernel and count the bytes that they send to the notebook, phase by phase."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kernels.kernel_rig import Kernel, running_kernel

ROOT = Path(__file__).resolve().parents[1]
PHASE = "application/x-benchmark-phase"
CELL_SECONDS = 1800.0


@dataclass
class Cell:
    """What one cell sent.

    Attributes:
        stdout: Its standard output.
        stderr: Its standard error.
        error: ``"ValueError: ..."`` when it raised, else empty.
        sent_bytes: Bytes on the output channel by phase; ``""`` before the first.
    """

    stdout: str = ""
    stderr: str = ""
    error: str = ""
    sent_bytes: dict[str, int] = field(default_factory=lambda: defaultdict(int))


@contextmanager
def kernel_for(**environment: str) -> Iterator[Kernel]:
    """Start a kernel of this Python that finds this checkout, and end it again.

    Args:
        **environment: Variables to add to its environment.
    """
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
    with running_kernel(PYTHONPATH=paths, **(quiet | environment)) as kernel:
        yield kernel


def run_cell(kernel: Kernel, code: str, check: bool = True) -> Cell:
    """Run a cell to its end; every message counts in its full length on the wire.

    Args:
        kernel: Where to run it.
        code: The cell.
        check: Raise when the cell raised.

    Raises:
        RuntimeError: When the cell raised, or the kernel died.
        TimeoutError: When the cell does not end.
    """
    session, socket = kernel.client.session, kernel.client.iopub_channel.socket
    deadline = time.monotonic() + CELL_SECONDS
    cell, phase = Cell(), ""
    sent = kernel.client.execute(code)
    while True:
        if not socket.poll(1000):
            if not kernel.manager.is_alive():
                msg = f"the kernel died in:\n{code}"
                raise RuntimeError(msg)
            if time.monotonic() > deadline:
                msg = f"the cell did not end:\n{code}"
                raise TimeoutError(msg)
            continue
        frames = socket.recv_multipart()
        message = session.deserialize(session.feed_identities(frames)[1])
        content = message["content"]
        if PHASE in content.get("data", {}):
            phase = content["data"][PHASE]
            continue
        cell.sent_bytes[phase] += sum(map(len, frames))
        if message["parent_header"].get("msg_id") != sent:
            continue
        _take(cell, message["msg_type"], content)
        if message["msg_type"] == "status" and content["execution_state"] == "idle":
            break
    if check and cell.error:
        msg = f"{cell.error}\n{cell.stderr}"
        raise RuntimeError(msg)
    return cell


def value_of(kernel: Kernel, expression: str) -> Any:
    """Return the value of an expression in the kernel, which JSON must be able to carry."""
    return json.loads(run_cell(kernel, f"import json; print(json.dumps({expression}))").stdout)


def mark_phase(name: str) -> None:
    """Say, in the kernel, that what is sent from now on belongs to a phase."""
    from IPython import get_ipython

    sys.stdout.flush()
    sys.stderr.flush()
    get_ipython().display_pub.publish({PHASE: name})


def _take(cell: Cell, kind: str, content: dict[str, Any]) -> None:
    if kind == "stream":
        setattr(cell, content["name"], getattr(cell, content["name"]) + content["text"])
    elif kind == "error":
        cell.error = f"{content['ename']}: {content['evalue']}"
