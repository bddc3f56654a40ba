"""Take waiting messages out of a kernel's queue, put them back, and deliver one to its widget.

The only module that touches what ipykernel does not document, which is:

- ipykernel 6: ``Kernel.msg_queue``, ``schedule_dispatch``, ``dispatch_shell``;
- ipykernel 7: ``Kernel.shell_channel_thread.manager.get_shell_channel_to_subshell_pair``, and of pyzmq
  ``ZMQStream._recv_callback`` and ``ZMQStream._run_callback``;
- both: ``Kernel._publish_status``, ``Kernel._parent_ident``, ``Comm._msg_callback``.

Tried on ipykernel 6.17.1, 6.29.5, 6.30.1, 6.31.0, 7.0.1, 7.1.0, 7.2.0, 7.3.0 and 7.4.0 (``make test-matrix``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol

Frames = list[Any]
# What follows the identities: signature, header, parent, metadata, content, buffers.
HEADER = 1


class Waiting(NamedTuple):
    """A message that the kernel has not looked at yet, and how to put it back behind those put back before."""

    frames: Frames
    put_back: Callable[[], Any]


class Queue(Protocol):
    """The shell messages that wait for a kernel's main thread. To be used on that thread only."""

    def waiting(self) -> Iterator[Waiting]:
        """Take the waiting messages out one by one, oldest first."""
        ...


class Queue6:
    """How messages wait for an ipykernel 6: in a socket, then in a queue."""

    def __init__(self, kernel: Any) -> None:
        self._queue = kernel.msg_queue
        self._socket = kernel.shell_stream.socket
        self._dispatch = kernel.dispatch_shell
        self._schedule = kernel.schedule_dispatch

    def waiting(self) -> Iterator[Waiting]:
        """Take the waiting messages out one by one, oldest first."""
        for _ in range(self._queue.qsize()):
            item = self._queue.get_nowait()
            yield Waiting(self._frames_in(item), partial(self._queue.put_nowait, item))
        for frames in _unread(self._socket):
            yield Waiting(frames, partial(self._schedule, self._dispatch, frames))

    def _frames_in(self, item: Any) -> Frames:
        match item:
            case (_, function, (frames, *_)) if function == self._dispatch:
                return list(frames)
            case _:
                return []  # The queue also holds what is no message, for example the end of aborting.


class Queue7:
    """How messages wait for an ipykernel 7: in a socket that a stream reads one by one."""

    def __init__(self, kernel: Any) -> None:
        # Without that thread, the main thread reads the kernel's own stream.
        thread = kernel.shell_channel_thread
        pair = thread.manager.get_shell_channel_to_subshell_pair(None) if thread else None
        self._stream = pair.to_stream if pair else kernel.shell_stream
        if not self._stream.receiving():
            raise AttributeError("Somebody else has stopped the kernel's stream; who starts it again is not known.")
        self._receive = self._stream._recv_callback
        self._run = self._stream._run_callback
        self._io_loop = kernel.io_loop
        self._taken: deque[Frames] = deque()

    def waiting(self) -> Iterator[Waiting]:
        """Take the waiting messages out one by one, oldest first."""
        for _ in range(len(self._taken)):
            frames = self._taken.popleft()
            yield Waiting(frames, partial(self._put_back, frames))
        for frames in _unread(self._stream.socket):
            yield Waiting(frames, partial(self._put_back, frames))

    def _put_back(self, frames: Frames) -> None:
        if self._stream.receiving():
            # A reading that the loop has scheduled before would find a newer message, and bring that one first.
            self._stream.stop_on_recv()
            self._io_loop.add_callback(self._resume)
        self._taken.append(frames)

    def _resume(self) -> None:
        try:
            while self._taken:
                self._run(self._receive, self._taken.popleft())
        finally:
            self._stream.on_recv(self._receive, copy=False)


class KernelMessages:
    """The waiting messages of an ipykernel, and what it does with one that is for a widget.

    Raises:
        AttributeError: When the kernel lacks what an ipykernel has.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        # 7.0 has a msg_queue too, which is not in use when there is a thread for the shell channel.
        in_thread = getattr(kernel, "shell_channel_thread", None) is not None
        queue: Queue = Queue6(kernel) if hasattr(kernel, "msg_queue") and not in_thread else Queue7(kernel)
        self.waiting = queue.waiting

    def comm_id_of(self, frames: Frames) -> str:
        """Return which comm a ``comm_msg`` is for; empty for every other message and for one that cannot be read."""
        session = self._kernel.session
        try:
            _, parts = session.feed_identities(frames, copy=False)
            # Only a message with these letters is worth checking its signature: a hundred cells may wait.
            if b"comm_msg" not in bytes(parts[HEADER].bytes):
                return ""
            # Without content, because a message whose content was unpacked once counts as a replay later.
            peeked = session.deserialize(parts, content=False, copy=False)
            if peeked["header"]["msg_type"] != "comm_msg":
                return ""
            return str(session.unpack(peeked["content"])["comm_id"])
        except Exception:
            return ""  # The kernel will find the same and log it.

    def deliver(self, frames: Frames) -> None:
        """Give a ``comm_msg`` to its comm, and tell the front end when its handler began and ended."""
        kernel = self._kernel
        _, parts = kernel.session.feed_identities(frames, copy=False)
        message = kernel.session.deserialize(parts, content=True, copy=False)
        comm = kernel.comm_manager.get_comm(message["content"]["comm_id"])
        kernel._publish_status("busy", "shell", parent=message)
        try:
            # Not handle_msg, which runs the hooks around a cell: they would flush the cell's unfinished figures.
            callback = getattr(comm, "_msg_callback", None)
            if callback is not None:
                callback(message)
        except Exception:
            kernel.log.error("Exception in the handler of a widget", exc_info=True)
        finally:
            # The front end sends a widget's next change only after this "idle"; the cell itself is busy still.
            kernel._publish_status("idle", "shell", parent=message)
            kernel._publish_status("busy", "shell")


@lru_cache(maxsize=1)
def messages_of(kernel: Any) -> KernelMessages:
    """Return the messages of the kernel, of which a process has one: all pumps have to see what one has taken out.

    Raises:
        AttributeError: When the kernel lacks what an ipykernel has.
    """
    return KernelMessages(kernel)


def parent_ident_of(kernel: Any) -> Any:
    """Return who sent the message that the kernel is working on, which ``Kernel.set_parent`` wants to have."""
    try:
        return kernel._parent_ident["shell"]
    except (AttributeError, LookupError):
        return []


def _unread(socket: Any) -> Iterator[Frames]:
    from zmq.constants import EVENTS, NOBLOCK, POLLIN  # comes with ipykernel, so it may be missing without a kernel

    # To the last: the kernel's loop is woken for what comes from now on, not for what is left here.
    while socket.get(EVENTS) & POLLIN:
        yield socket.recv_multipart(NOBLOCK, copy=False)
