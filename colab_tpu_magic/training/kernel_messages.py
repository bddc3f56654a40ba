"""Take waiting messages out of a kernel's queue, put them back, and deliver one to its widget.

The only module that touches what ipykernel does not document, which is:

- ipykernel 6: ``Kernel.msg_queue``, ``schedule_dispatch``, ``dispatch_shell``;
- ipykernel 7: ``Kernel.shell_channel_thread.manager.get_shell_channel_to_subshell_pair``, and of pyzmq
  ``ZMQStream._recv_callback``;
- both: ``Kernel._publish_status``, ``Kernel._parent_ident``, ``Comm._msg_callback``.

Tried on ipykernel 6.17.1, 6.29.5, 6.30.1, 6.31.0, 7.0.1, 7.1.0, 7.2.0, 7.3.0 and 7.4.0 (``make test-matrix``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

Frames = list[Any]
# What follows the identities: signature, header, parent, metadata, content, buffers.
HEADER = 1


class Waiting(NamedTuple):
    """A message that the kernel has not looked at yet, and how to put it back behind those put back before."""

    frames: Frames
    put_back: Callable[[], Any]


class KernelMessages:
    """The shell messages that wait for the main thread of an ipykernel. Use it on that thread only.

    Attributes:
        waiting: Takes the waiting messages out one by one, oldest first.

    Raises:
        AttributeError: When the kernel lacks what an ipykernel has.
    """

    waiting: Callable[[], Iterator[Waiting]]

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        if hasattr(kernel, "msg_queue"):
            self.waiting = partial(_waiting_in_6, kernel, kernel.msg_queue, kernel.shell_stream.socket)
            return
        # Without that thread, the main thread reads the kernel's own stream.
        thread = kernel.shell_channel_thread
        stream = thread.manager.get_shell_channel_to_subshell_pair(None).to_stream if thread else kernel.shell_stream
        self.waiting = partial(_waiting_in_7, kernel.io_loop, stream.socket, stream._recv_callback)

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


def parent_ident_of(kernel: Any) -> Any:
    """Return who sent the message that the kernel is working on, which ``Kernel.set_parent`` wants to have."""
    try:
        return kernel._parent_ident["shell"]
    except (AttributeError, LookupError):
        return []


def _waiting_in_6(kernel: Any, queue: Any, socket: Any) -> Iterator[Waiting]:
    for _ in range(queue.qsize()):
        item = queue.get_nowait()
        yield Waiting(_frames_in(item, kernel.dispatch_shell), partial(queue.put_nowait, item))
    for frames in _unread(socket):
        yield Waiting(frames, partial(kernel.schedule_dispatch, kernel.dispatch_shell, frames))


def _frames_in(item: Any, dispatch: Any) -> Frames:
    match item:
        case (_, function, (frames, *_)) if function == dispatch:
            return list(frames)
        case _:
            return []  # The queue also holds what is no message, for example the end of aborting.


def _waiting_in_7(io_loop: Any, socket: Any, receive: Any) -> Iterator[Waiting]:
    for frames in _unread(socket):
        yield Waiting(frames, partial(io_loop.add_callback, receive, frames))


def _unread(socket: Any) -> Iterator[Frames]:
    from zmq.constants import EVENTS, NOBLOCK, POLLIN  # comes with ipykernel, so it may be missing without a kernel

    # To the last: the kernel's loop is woken for what comes from now on, not for what is left here.
    while socket.get(EVENTS) & POLLIN:
        yield socket.recv_multipart(NOBLOCK, copy=False)
