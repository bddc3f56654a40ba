"""Find the dotted path that an expression names: ``tf.train.Adam`` is ``tensorflow.train.Adam``."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst


def dotted(node: cst.CSTNode) -> str:
    """Return ``a.b.c`` of names and attributes, or "" for any other expression."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr.value}" if owner else ""
    return ""


def node_of(path: str) -> cst.Name | cst.Attribute:
    """Return the expression of a dotted path."""
    first, *others = path.split(".")
    node: cst.Name | cst.Attribute = cst.Name(first)
    for name in others:
        node = cst.Attribute(node, cst.Name(name))
    return node


class _Imports(cst.CSTVisitor):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Import(self, node: cst.Import) -> None:
        for alias in node.names:
            path = dotted(alias.name)
            if alias.asname is not None:
                self.names[dotted(alias.asname.name)] = path
            else:
                self.names[path.partition(".")[0]] = path.partition(".")[0]

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        if node.module is None or node.relative or isinstance(node.names, cst.ImportStar):
            return
        module = dotted(node.module)
        for alias in node.names:
            name = dotted(alias.asname.name) if alias.asname is not None else dotted(alias.name)
            self.names[name] = f"{module}.{dotted(alias.name)}"


def names_in(module: cst.Module, known: Mapping[str, str]) -> dict[str, str]:
    """Return what is known, with what a text binds: imports by their path, its own definitions as ""."""
    from .own_names import own_names

    names = dict(known)
    module.visit(_Imports(names))
    return names | own_names(module, names)


def path_of(node: cst.CSTNode, names: Mapping[str, str]) -> str:
    """Return the full dotted path of an expression; "" when no import binds its first name."""
    written = dotted(node)
    first, _, rest = written.partition(".")
    if not names.get(first):
        return ""
    return f"{names[first]}.{rest}" if rest else names[first]


def keras_path(path: str) -> str:
    """Return a path with every name of Keras' own package as ``keras.``, "" for anything else.

    Example:
        >>> keras_path("tensorflow.keras.optimizers.Adam")
        'keras.optimizers.Adam'
    """
    for prefix in ("tensorflow.contrib.keras.api.keras", "tensorflow.contrib.keras", "tensorflow.python.keras"):
        if path.startswith(prefix + "."):
            return "keras" + path.removeprefix(prefix)
    if path.startswith("tensorflow.optimizers."):
        return "keras" + path.removeprefix("tensorflow")
    if path.startswith("tensorflow.keras."):
        return path.removeprefix("tensorflow.")
    return path if path.startswith("keras.") else ""
