"""One worker process: started silent, asked, watched while it works, and killed with all that it started."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import worker
from ..worker import SETTINGS, Inbox, Message, packed
from .environment import CompilerEnvironment
from .limits import resident_bytes

LOOK_SECONDS = 0.05
"""How often the worker's memory and the time are looked at."""
KEPT = 8_192
"""Bytes of what it prints that are kept, for the message of a crash."""
# Variables that would change what is compiled, or have something looked for, written or started.
_NOT_PASSED_ON = ("JAX_", "XLA_", "TPU_", "LIBTPU", "PJRT_", "TF_", "KERAS_", "PYTHON", "MALLOC_")


class WorkerDied(Exception):
    """The worker ended in the middle of an answer.

    Args:
        code: Its exit code, negative for a signal.
        printed: The last that it printed.
    """

    def __init__(self, code: int, printed: str) -> None:
        self.code = code
        self.printed = printed
        super().__init__(f"exit code {code}")


class TimeIsUp(Exception):
    """The answer took longer than it may."""


class TooMuchMemory(Exception):
    """The worker took more memory than it may.

    Args:
        used: What it had when it was looked at, bytes.
    """

    def __init__(self, used: int) -> None:
        self.used = used
        super().__init__(f"{used} bytes")


class Worker:
    """A running worker. After an exception out of `ask` it is dead.

    Args:
        environment: The Python to run it with.

    Raises:
        OSError: When that Python cannot be started.
    """

    def __init__(self, environment: CompilerEnvironment) -> None:
        self.environment = environment
        self.answered = 0
        self._owner = os.getpid()
        self._inbox = Inbox()
        self._printed = b""
        # A session of its own: the interrupt that a notebook sends to the kernel's group does not reach it.
        # -P: the folder that worker.py lies in holds modules that are none of the worker's.
        self._process = subprocess.Popen(
            [environment.python, "-P", str(Path(worker.__file__).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_variables(os.environ, keep_paths=environment.python == sys.executable),
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin, self._stdout, self._stderr = (
            self._process.stdin.fileno(),
            self._process.stdout.fileno(),
            self._process.stderr.fileno(),
        )
        for descriptor in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)

    @property
    def pid(self) -> int:
        """The worker's process id, which is its group's too."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def resident(self) -> int:
        """Memory that it has now, bytes."""
        return resident_bytes(self.pid)

    def ask(
        self,
        header: dict[str, Any],
        blocks: Sequence[bytes] = (),
        *,
        deadline: float,
        memory_bytes: int,
        heard: Callable[[Message], None] = lambda message: None,
    ) -> Message:
        """Send a request and return its last answer, of stage ``"done"`` or ``"failed"``.

        Args:
            header: The request.
            blocks: Its bytes.
            deadline: When it must be answered, on `time.monotonic`'s clock.
            memory_bytes: Memory that the worker may have.
            heard: Called with each answer as it comes, the last one too.

        Raises:
            WorkerDied: When the worker ends without that answer.
            TimeIsUp: When the deadline is over.
            TooMuchMemory: When it has more memory than it may.
        """
        try:
            last = self._exchange(packed(header, blocks), deadline, memory_bytes, heard)
        except BaseException:  # an interrupt too: nothing goes on compiling that nobody waits for
            self.kill()
            raise
        self.answered += 1
        return last

    def end(self) -> None:
        """End the worker and all that it started; who waits for its answer finds it dead."""
        if os.getpid() != self._owner:  # a fork of the process that started it
            return
        try:
            if self._process.poll() is None:
                os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def kill(self) -> None:
        """End the worker and all that it started, wait until it is gone, and close its pipes."""
        self.end()
        if os.getpid() == self._owner:
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _exchange(
        self, request: bytes, deadline: float, memory_bytes: int, heard: Callable[[Message], None]
    ) -> Message:
        unsent = memoryview(request)
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            selector.register(self._stderr, selectors.EVENT_READ)
            selector.register(self._stdin, selectors.EVENT_WRITE)
            while True:
                for key, _ in selector.select(LOOK_SECONDS):
                    if key.fd == self._stdin:
                        try:
                            unsent = unsent[os.write(self._stdin, unsent) :]
                        except BrokenPipeError:
                            unsent = unsent[:0]  # its output tells that it is gone
                        if not unsent:
                            selector.unregister(self._stdin)
                        continue
                    read = os.read(key.fd, 1 << 20)
                    if key.fd == self._stderr:
                        self._printed = (self._printed + read)[-KEPT:]
                        if not read:
                            selector.unregister(self._stderr)
                        continue
                    if not read:
                        raise self._death()
                    for message in self._whole(read):
                        heard(message)
                        if message[0]["stage"] in ("done", "failed"):
                            return message
                if time.monotonic() > deadline:
                    raise TimeIsUp
                if (used := self.resident) > memory_bytes:
                    raise TooMuchMemory(used)

    def _whole(self, read: bytes) -> list[Message]:
        try:
            return self._inbox.feed(read)
        except (ValueError, KeyError) as error:
            raise WorkerDied(0, f"it wrote what is no message: {read[:80]!r}") from error

    def _death(self) -> WorkerDied:
        code = self._process.wait()
        try:
            while read := os.read(self._stderr, 1 << 16):
                self._printed = (self._printed + read)[-KEPT:]
        except BlockingIOError:
            pass
        return WorkerDied(code, self._printed.decode(errors="replace"))


def clean_variables(variables: Mapping[str, str], keep_paths: bool) -> dict[str, str]:
    """Return the environment of a worker: the user's without what would change or show anything.

    Args:
        variables: The environment of this process.
        keep_paths: Whether modules are to be found where this Python finds them (``PYTHONPATH``).
    """
    kept = {name: value for name, value in variables.items() if not name.startswith(_NOT_PASSED_ON)}
    if keep_paths and "PYTHONPATH" in variables:
        kept["PYTHONPATH"] = variables["PYTHONPATH"]
    return {**kept, **SETTINGS}
