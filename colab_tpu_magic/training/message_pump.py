"""Hand the messages of our own widgets to them while a cell keeps the kernel's main thread busy.

No event loop is nested, and hooks around cells do not fire: what is for our widgets is handled, and everything
else waits on in its order. On ipykernel 7.0 to 7.3 a front end may send widget messages to a thread of their own
("subshells"); the kernel runs their handlers there, and nothing comes by here. What arrives while a cell awaits
something waits for the cell's end on ipykernel 7: the kernel has taken it out of the queue by then.
"""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from types import FrameType
from typing import Any

from .kernel_messages import KernelMessages, Waiting, messages_of

NO_KERNEL = "Buttons do not work during training: there is no Jupyter kernel here."
UNKNOWN_KERNEL = "Buttons do not work during training: this kernel is of a kind that is not known."
OTHER_THREAD = "Buttons do not work during training: it does not run on the kernel's main thread."
SURPRISE = "Buttons do not work any more until this cell ends; training goes on. The kernel raised {}: {}"


class MessagePump:
    """Hand the comm messages of some widgets to them while a cell is running.

    Args:
        kernel: The ipykernel, or None.
        comm_ids: Whose messages to handle; all others stay queued in their order.
        min_interval_seconds: How long `poll` rests between two looks.
        clock: Returns seconds.

    Example:
        ::

            pump = pump_for(get_ipython(), [stop_button])
            for batch in batches:
                pump.poll()  # runs the button's handler when it was clicked
                train_on(batch)
    """

    def __init__(
        self,
        kernel: Any,
        comm_ids: Collection[str] = (),
        min_interval_seconds: float = 0.1,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._comm_ids = set(comm_ids)
        self._min_interval_seconds = min_interval_seconds
        self._clock = clock
        self._next_look = -math.inf
        self._fault = ""
        self._messages: KernelMessages | None = None
        if kernel is None:
            self._switch_off(NO_KERNEL)
            return
        try:
            self._messages = messages_of(kernel)
        except Exception:  # whatever a kernel raises that is asked for what only ipykernel has
            self._switch_off(UNKNOWN_KERNEL)

    @property
    def reason(self) -> str:
        """Why messages cannot be delivered from here, in one sentence for people; empty when they can."""
        return self._fault or ("" if _on_main_thread() else OTHER_THREAD)

    def listen(self, *comm_ids: str) -> None:
        """Handle the messages of these widgets too."""
        self._comm_ids.update(comm_ids)

    def poll(self) -> int:
        """Do `poll_now` unless the last time is too short ago: then one reading of the clock is all it costs."""
        now = self._clock()
        if now < self._next_look:
            return 0
        self._next_look = now + self._min_interval_seconds
        return self.poll_now()

    def poll_now(self) -> int:
        """Handle our messages that wait; return how many. Raises nothing but KeyboardInterrupt."""
        if self._messages is None or not _on_main_thread():
            return 0
        try:
            return self._deliver(self._messages)
        except Exception as error:
            self._switch_off(SURPRISE.format(type(error).__name__, error))
            with contextlib.suppress(Warning):  # where warnings are errors, training goes on all the same
                warnings.warn(self._fault, stacklevel=2)
            return 0

    def _switch_off(self, reason: str) -> None:
        self._fault = reason
        self._messages = None
        self._next_look = math.inf

    def _deliver(self, messages: KernelMessages) -> int:
        ours: list[Waiting] = []
        others: list[Waiting] = []
        handled = 0
        try:
            with _interrupts_held():
                try:
                    for one in messages.waiting():
                        (ours if messages.comm_id_of(one.frames) in self._comm_ids else others).append(one)
                finally:
                    for one in others:
                        one.put_back()
            for one in ours:
                handled += 1
                messages.deliver(one.frames)
        finally:
            # When a handler was interrupted, the messages behind it wait on.
            for one in ours[handled:]:
                one.put_back()
        return handled


def pump_for(
    shell: Any,
    widgets: Iterable[Any],
    min_interval_seconds: float = 0.1,
    clock: Callable[[], float] = time.perf_counter,
) -> MessagePump:
    """Return a pump for these widgets; those inside a box have to be named one by one.

    Args:
        shell: The InteractiveShell, or None.
        widgets: Widgets of ipywidgets 7 or 8.
        min_interval_seconds: How long `MessagePump.poll` rests between two looks.
        clock: Returns seconds.
    """
    kernel = getattr(shell, "kernel", None)
    # A closed widget has no id.
    comm_ids = [widget.model_id for widget in widgets if widget.comm is not None]
    return MessagePump(kernel, comm_ids, min_interval_seconds, clock)


def _on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait, so that no message is lost on its way out of the queue or back."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):
        yield
        return
    arrived: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: arrived.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if arrived:
        before(*arrived[0])
