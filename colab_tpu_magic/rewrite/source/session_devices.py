"""``tf.Session(address).list_devices()``: what looked at the cores of the TPU looks at the replicas."""

from __future__ import annotations

import libcst as cst

from .base import LEGACY, Rewrite
from .context import Context

SESSIONS = ("Session", "InteractiveSession")
HARMLESS = ("list_devices", "close")


class SessionDevices(Rewrite):
    """Put a stand-in where a session is asked for nothing but its devices; any other session stays, and is refused."""

    id = "session-devices"
    title = "The replicas are listed"
    why = (
        "There are no sessions any more. The devices were listed to see the TPU's cores: the stand-in lists the "
        "replicas that train."
    )
    source = "tensorflow.org/guide/migrate; the Colab TPU notebooks of 2018"
    hints = ("list_devices",)

    def __init__(self, module: cst.Module, context: Context) -> None:
        super().__init__(module, context)
        self._harmless: set[cst.CSTNode] = set()
        uses = _Uses(self)
        module.visit(uses)
        for name, sessions in uses.sessions.items():
            if "list_devices" in uses.asked.get(name, ()) and uses.named[name] == len(uses.asked[name]) + len(sessions):
                self._harmless.update(sessions)
        self._harmless.update(uses.unnamed)

    def is_session(self, node: cst.CSTNode) -> bool:
        """Return whether an expression makes a session."""
        if not isinstance(node, cst.Call):
            return False
        path = self.path(node.func).replace("tensorflow.compat.v1.", "tensorflow.")
        return path.removeprefix("tensorflow.") in SESSIONS and path.startswith("tensorflow.")

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one session."""
        if original not in self._harmless:
            return updated
        new: cst.BaseExpression = self.replace(original, cst.Call(self.need(f"{LEGACY}.session")))
        return new


class _Uses(cst.CSTVisitor):
    """The sessions of a text by their names, how often each name is there, and what it is asked for."""

    def __init__(self, rewrite: SessionDevices) -> None:
        self.rewrite = rewrite
        self.sessions: dict[str, list[cst.CSTNode]] = {}
        self.unnamed: list[cst.CSTNode] = []
        self.named: dict[str, int] = {}
        self.asked: dict[str, list[str]] = {}

    def visit_WithItem(self, node: cst.WithItem) -> None:
        if node.asname is not None and isinstance(node.asname.name, cst.Name) and self.rewrite.is_session(node.item):
            self.sessions.setdefault(node.asname.name.value, []).append(node.item)

    def visit_Assign(self, node: cst.Assign) -> None:
        if len(node.targets) == 1 and isinstance(node.targets[0].target, cst.Name):
            if self.rewrite.is_session(node.value):
                self.sessions.setdefault(node.targets[0].target.value, []).append(node.value)

    def visit_Name(self, node: cst.Name) -> None:
        self.named[node.value] = self.named.get(node.value, 0) + 1

    def visit_Call(self, node: cst.Call) -> None:
        func = node.func
        if not isinstance(func, cst.Attribute) or func.attr.value not in HARMLESS:
            return
        if isinstance(func.value, cst.Name):
            self.asked.setdefault(func.value.value, []).append(func.attr.value)
        elif func.attr.value == "list_devices" and self.rewrite.is_session(func.value):
            self.unnamed.append(func.value)
