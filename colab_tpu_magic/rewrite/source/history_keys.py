"""Names under which Keras before 2.3 logged ``metrics=['accuracy']``: ``acc`` and ``val_acc``."""

from __future__ import annotations

import re

import libcst as cst

from .base import Rewrite, keyword
from .context import Context

KEYS = {"acc": "accuracy", "val_acc": "val_accuracy"}
_HOLDERS = ("history", "logs")
_MONITORS = ("ModelCheckpoint", "EarlyStopping", "ReduceLROnPlateau")
_IN_A_NAME = re.compile(r"\{(val_acc|acc)(?=[:}])")


class HistoryKeys(Rewrite):
    """Read ``accuracy`` where a model is compiled with that, and none with ``acc``, which names the metric still today."""

    id = "history-keys"
    title = "The metric's name of today"
    why = (
        "Keras before 2.3 logged metrics=['accuracy'] as acc; a metric is logged under the name that compile was given."
    )
    source = "keras 2.3.0 release notes"
    hints = ("acc'", 'acc"', "acc}", "acc:")

    def __init__(self, module: cst.Module, context: Context) -> None:
        super().__init__(module, context)
        self.logged = metrics_in(module) | context.metrics
        self.is_certain = "accuracy" in self.logged and "acc" not in self.logged

    def leave_Subscript(self, original: cst.Subscript, updated: cst.Subscript) -> cst.BaseExpression:
        """Rewrite ``h.history['acc']`` and ``logs['val_acc']``."""
        index = updated.slice[0].slice if len(updated.slice) == 1 else None
        if not self.is_certain or not isinstance(index, cst.Index) or not _holds(updated.value):
            return updated
        new = _renamed(index.value)
        if new is None:
            return updated
        element = updated.slice[0].with_changes(slice=index.with_changes(value=new))
        return self.replace(original, updated.with_changes(slice=[element]))

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite ``logs.get('acc')`` and what a callback monitors or names its files by."""
        func = updated.func
        name = func.attr.value if isinstance(func, cst.Attribute) else getattr(func, "value", "")
        if not self.is_certain or not updated.args:
            return updated
        arguments = list(updated.args)
        for index, one in enumerate(arguments):
            new = None
            if name == "get" and isinstance(func, cst.Attribute) and _holds(func.value) and index == 0:
                new = _renamed(one.value)
            elif name in _MONITORS and (keyword(one) == "monitor" or not keyword(one)):
                new = _renamed(one.value) or _file_renamed(one.value)
            elif name == "ModelCheckpoint" and keyword(one) == "filepath":
                new = _file_renamed(one.value)
            if new is not None:
                arguments[index] = one.with_changes(value=new)
        if all(new is old for new, old in zip(arguments, updated.args)):
            return updated
        return self.replace(original, updated.with_changes(args=arguments))


class _Metrics(cst.CSTVisitor):
    """The names in what models of a text are compiled with as metrics."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_Call(self, node: cst.Call) -> None:
        if not (isinstance(node.func, cst.Attribute) and node.func.attr.value == "compile"):
            return
        for index, one in enumerate(node.args):
            if keyword(one) in ("metrics", "weighted_metrics") or (index == 2 and not keyword(one)):
                inner = _Words()
                one.value.visit(inner)
                self.names |= inner.found


class _Words(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        self.found.add(str(node.evaluated_value))

    def visit_Name(self, node: cst.Name) -> None:
        self.found.add(node.value)


def metrics_in(module: cst.Module) -> set[str]:
    """Return the names and strings in the metrics of a text's models."""
    found = _Metrics()
    module.visit(found)
    return found.names


def _holds(node: cst.BaseExpression) -> bool:
    """Return whether an expression is called as what holds logged values: ``h.history``, ``logs``."""
    name = node.attr.value if isinstance(node, cst.Attribute) else getattr(node, "value", "")
    return name in _HOLDERS


def _renamed(value: cst.BaseExpression) -> cst.SimpleString | None:
    if not isinstance(value, cst.SimpleString) or value.evaluated_value not in KEYS:
        return None
    return value.with_changes(value=f"{value.prefix}{value.quote}{KEYS[str(value.evaluated_value)]}{value.quote}")


def _file_renamed(value: cst.BaseExpression) -> cst.SimpleString | None:
    if not isinstance(value, cst.SimpleString) or not _IN_A_NAME.search(value.value):
        return None
    return value.with_changes(value=_IN_A_NAME.sub(lambda found: "{" + KEYS[found[1]], value.value))
