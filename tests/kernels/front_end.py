"""Talk to a kernel as a front end does: send without waiting, also while a cell runs, and hear everything."""

from __future__ import annotations

import time
from collections.abc import Callable
from queue import Empty
from typing import Any

from .kernel_rig import CellResult, Kernel

WAIT_SECONDS = 15.0


class FrontEnd:
    """One client that keeps what the kernel said.

    Attributes:
        heard: Messages of the output channel, in their order.
        replies: Replies on the shell channel, in their order.
        questions: What ``input()`` asked.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.heard: list[dict[str, Any]] = []
        self.replies: list[dict[str, Any]] = []
        self.questions: list[str] = []

    def send(self, kind: str, content: dict[str, Any], **header: Any) -> str:
        """Send any message on the shell channel; return its id."""
        message = self.kernel.client.session.msg(kind, content)
        message["header"].update(header)
        self.kernel.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def execute(self, code: str) -> str:
        """Send a cell."""
        return str(self.kernel.client.execute(code))

    def click(self, comm_id: str, **header: Any) -> str:
        """Click a button."""
        return self._to_widget(comm_id, {"method": "custom", "content": {"event": "click"}}, **header)

    def change(self, comm_id: str, **state: Any) -> str:
        """Type into a field."""
        return self._to_widget(comm_id, {"method": "update", "state": state, "buffer_paths": []})

    def answer(self, text: str) -> None:
        """Answer what ``input()`` asked."""
        self.kernel.client.input(text)

    def wait_for(self, is_true: Callable[[], Any], seconds: float = WAIT_SECONDS) -> None:
        """Listen until a condition holds.

        Raises:
            AssertionError: When it does not in time; the message holds what was heard last.
        """
        deadline = time.monotonic() + seconds
        while not is_true():
            assert time.monotonic() < deadline, [(one["msg_type"], one["content"]) for one in self.heard[-8:]]
            self._listen()

    def wait_for_replies(self, *requests: str) -> None:
        """Listen until all of these have their reply and their last output."""
        self.wait_for(
            lambda: all(self.reply_to(one) and "idle" in self.states_of(one) for one in requests),
        )

    def wait_for_end_of_aborting(self) -> None:
        """Send cells until one is not aborted: a kernel goes on aborting for a moment after the last queued one."""
        status = "aborted"
        while status == "aborted":
            cell = self.execute("pass")
            self.wait_for_replies(cell)
            status = (self.reply_to(cell) or {})["status"]

    def text_of(self, request: str) -> str:
        """Return what a request printed so far."""
        return "".join(one["content"]["text"] for one in self.about(request, "stream"))

    def states_of(self, request: str) -> list[str]:
        """Return the states of the kernel that were told about a request."""
        return [one["content"]["execution_state"] for one in self.about(request, "status")]

    def about(self, request: str, kind: str) -> list[dict[str, Any]]:
        """Return what was heard of one kind about a request."""
        return [one for one in self.heard if one["msg_type"] == kind and parent_of(one) == request]

    def reply_to(self, request: str) -> dict[str, Any] | None:
        """Return the content of the reply to a request; None before it came."""
        return next((one["content"] for one in self.replies if parent_of(one) == request), None)

    def output_of(self, request: str) -> CellResult:
        """Return what a request has put out so far, displays in their final state."""
        result = CellResult()
        for one in self.heard:
            if parent_of(one) == request:
                result.take(one)
        return result

    def widgets(self) -> dict[str, dict[str, Any]]:
        """Return the state of each widget that is open, by its comm id, oldest first."""
        states: dict[str, dict[str, Any]] = {}
        for one in self.heard:
            content = one["content"]
            if one["msg_type"] == "comm_open" and content["target_name"] == "jupyter.widget":
                states[content["comm_id"]] = dict(content["data"]["state"])
            elif one["msg_type"] == "comm_close":
                states.pop(content["comm_id"], None)
            elif one["msg_type"] == "comm_msg" and content["data"].get("method") == "update":
                states.get(content["comm_id"], {}).update(content["data"]["state"])
        return states

    def widget(self, *names: str) -> tuple[str, dict[str, Any]]:
        """Return comm id and state of the newest widget with one of these names on it."""
        found = [(comm, state) for comm, state in self.widgets().items() if state.get("description") in names]
        assert found, f"no widget named {' or '.join(names)}"
        return found[-1]

    def _to_widget(self, comm_id: str, data: dict[str, Any], **header: Any) -> str:
        return self.send("comm_msg", {"comm_id": comm_id, "data": data}, **header)

    def _listen(self) -> None:
        client = self.kernel.client
        assert self.kernel.manager.is_alive(), "the kernel died"
        try:
            self.heard.append(client.get_iopub_msg(timeout=0.02))
        except Empty:
            pass
        while client.shell_channel.msg_ready():
            self.replies.append(client.get_shell_msg(timeout=1))
        while client.stdin_channel.msg_ready():
            self.questions.append(client.get_stdin_msg(timeout=1)["content"]["prompt"])


def parent_of(message: dict[str, Any]) -> str:
    """Return the id of the message that caused this one."""
    return str(message["parent_header"].get("msg_id", ""))
