"""Turn Ctrl-C into a clean end after the running step, and requests to stop into Keras' own flag."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

CALLBACK_LIST = os.path.join("keras", "src", "callbacks", "callback_list.py")
TRAINER = os.path.join("keras", "src", "backend")


@dataclass
class Control:
    """What was asked of a running fit.

    The controls' handlers set these, on whatever thread the kernel runs them; the thread that
    trains acts on them between two steps.

    Attributes:
        interrupted: Ctrl-C or the kernel's interrupt arrived.
        stopping: A stop after this step was asked for.
        pausing: Steps are to wait as long as this is set.
        rate_was_set: Whether a learning rate that was asked for has been set.
        rate_lock: Why the learning rate cannot be set by hand, empty when it can.
    """

    interrupted: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)
    pausing: threading.Event = field(default_factory=threading.Event)
    rate_lock: str = ""
    rate_was_set: bool = False
    _rates: deque[float] = field(default_factory=lambda: deque(maxlen=1))

    @property
    def wanted_rate(self) -> float | None:
        """Learning rate asked for and not yet set, or None."""
        try:
            return self._rates[-1]
        except IndexError:
            return None

    @wanted_rate.setter
    def wanted_rate(self, rate: float) -> None:
        self._rates.append(rate)

    def take_rate(self) -> float | None:
        """Return the learning rate that was asked for last, once; one asked for meanwhile is not lost."""
        try:
            return self._rates.pop()
        except IndexError:
            return None

    def check(self) -> None:
        """Raise KeyboardInterrupt between two steps when one arrived.

        Plain Keras on JAX loses the weights when the exception falls into a step; here it
        only ever falls between two.
        """
        if self.interrupted.is_set():
            raise KeyboardInterrupt

    @contextmanager
    def catching_interrupts(self) -> Iterator[None]:
        """Hold an interrupt back until the step has ended; in a callback, or a second time, let it through."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def hold(number: int, frame: FrameType | None) -> None:
            second = self.interrupted.is_set()
            self.interrupted.set()
            if second or in_callback(frame):
                raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, hold)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Let no interrupt through: a second Ctrl-C must not take the picture of what the first one ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def in_callback(frame: FrameType | None) -> bool:
    """Return whether Keras is calling its callbacks, which it does between two steps.

    A step that a callback itself started, by evaluating a model, is a step all the same.
    """
    while frame is not None:
        name = frame.f_code.co_filename
        if name.endswith(CALLBACK_LIST):
            return True
        if TRAINER in name and name.endswith("trainer.py"):
            return False
        frame = frame.f_back
    return False
