"""What a text defines itself: names that are not Keras' however they are called, methods, and Keras models."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from .names import dotted, keras_path, path_of

_MODELS = ("Sequential", "Model", "Functional", "load_model", "clone_model", "model_from_json", "model_from_config")


def own_names(module: cst.Module, names: Mapping[str, str]) -> dict[str, str]:
    """Return the names that a text binds other than by import, each with the path it is an alias of, or "".

    Args:
        module: The text.
        names: What its imports and earlier cells bind. Names that a function binds for itself leave them alone.

    Example:
        >>> own_names(cst.parse_module("def Adam(): pass\\nK = tf.keras.backend"), {"tf": "tensorflow"})
        {'Adam': '', 'K': 'tensorflow.keras.backend'}
    """
    found = _Bound(names)
    module.visit(found)
    return found.bound


class _Bound(cst.CSTVisitor):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.bound: dict[str, str] = {}
        self._inside: list[bool] = []  # whether each scope around is a class

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        if not (self._inside and self._inside[-1]):
            self._bind(node.name.value)
        self._inside.append(False)

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        self._inside.pop()

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._bind(node.name.value)
        self._inside.append(True)

    def leave_ClassDef(self, original_node: cst.ClassDef) -> None:
        self._inside.pop()

    def visit_Assign(self, node: cst.Assign) -> None:
        if self._inside and self._inside[-1]:
            return
        if isinstance(node.value, cst.Name) and node.value.value == "None":
            return  # an import that failed
        for target in node.targets:
            if isinstance(target.target, cst.Name):
                name = target.target.value
                if dotted(node.value).partition(".")[0] != name:
                    self._bind(name, path_of(node.value, self.names))

    def _bind(self, name: str, path: str = "") -> None:
        if not (self._inside and name in self.names):
            self.bound[name] = path


class OwnMethods(cst.CSTVisitor):
    """The methods that a text's classes define, and what is an instance of them or a Keras model.

    Attributes:
        methods: Names of methods of all classes in the text.
        own: Names assigned an instance of a class that defines one of them, with the methods of that class.
        models: Names assigned a Keras model, or compiled.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.methods: set[str] = set()
        self.own: dict[str, set[str]] = {}
        self.models: set[str] = set()
        self._classes: dict[str, set[str]] = {}
        self._model_classes: set[str] = set()

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        """Remember the methods of one class."""
        defined = {one.name.value for one in node.body.body if isinstance(one, cst.FunctionDef)}
        self.methods |= defined
        self._classes[node.name.value] = defined
        if any(self._is_model(base.value) for base in node.bases):
            self._model_classes.add(node.name.value)

    def visit_Assign(self, node: cst.Assign) -> None:
        """Remember what one name is."""
        if not isinstance(node.value, cst.Call):
            return
        made = dotted(node.value.func)
        for target in node.targets:
            name = dotted(target.target)
            if made in self._classes:
                self.own[name] = self._classes[made]
            if name and self._is_model(node.value.func):
                self.models.add(name)

    def visit_Call(self, node: cst.Call) -> None:
        """Remember what is compiled as a Keras model is."""
        func = node.func
        if isinstance(func, cst.Attribute) and func.attr.value == "compile" and not path_of(func, self.names):
            self.models.add(dotted(func.value))

    def is_own(self, receiver: cst.BaseExpression, method: str) -> bool:
        """Return whether a method that is called is one that the text defines, as far as its letters tell."""
        if isinstance(receiver, cst.Call) and method in self._classes.get(dotted(receiver.func), ()):
            return True
        name = dotted(receiver)
        if name in self.own:
            return method in self.own[name]
        if method not in self.methods or name in self.models:
            return False
        return not name.endswith("model")

    def is_model(self, receiver: cst.BaseExpression) -> bool:
        """Return whether something is known to be a Keras model."""
        name = dotted(receiver)
        return bool(name) and name in self.models

    def _is_model(self, maker: cst.BaseExpression) -> bool:
        name, path = dotted(maker), keras_path(path_of(maker, self.names))
        if path:
            return path.rpartition(".")[2] in _MODELS or path.startswith("keras.applications.")
        return name in self._model_classes or (name in _MODELS and name not in self.names)


def own_methods(module: cst.Module, names: Mapping[str, str]) -> OwnMethods:
    """Return what a text tells of its methods and models."""
    found = OwnMethods(names)
    module.visit(found)
    return found
