"""Names of weight files: Keras 3 saves weights to ``….weights.h5`` and reads an old ``.h5`` as it is."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite, as_keyword, keyword, tidy
from .context import Context

NEW = ".weights.h5"
_OLD = (".h5", ".hdf5", ".ckpt", ".tf")


class WeightFiles(Rewrite):
    """Give the files that are saved the ending that Keras 3 wants, and the same where they are loaded."""

    id = "weight-files"
    title = "Names of weight files"
    why = (
        "Keras 3 saves weights only to a name that ends in .weights.h5. "
        "A file that is only loaded keeps its name: old .h5 files of weights and of models are read as they are."
    )
    source = "keras.io/api/models/model_saving_apis/weights_saving_and_loading; keras 3.15, November 2026"
    hints = ("save_weights", "load_weights")

    def __init__(self, module: cst.Module, context: Context) -> None:
        super().__init__(module, context)
        found = _Saved(self)
        module.visit(found)
        self.saved = found.literals | set(context.saved)
        self.saved_names = found.names

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call that saves or loads."""
        func = updated.func
        name = func.attr.value if isinstance(func, cst.Attribute) else getattr(func, "value", "")
        arguments = list(updated.args)
        if name == "save_weights":
            arguments = [one for one in arguments if keyword(one) not in ("save_format", "options")]
        elif not (name == "load_weights" or (name == "ModelCheckpoint" and saves_weights(updated))):
            return updated
        changed = len(arguments) < len(updated.args)
        for index, argument in enumerate(arguments):
            if (index == 0 and not keyword(argument)) or keyword(argument) in ("filepath", "filename"):
                new = self._ending(argument.value)
                wanted = name != "load_weights" or (new is not None and self._was_saved(argument.value, new))
                if new is not None and wanted:
                    arguments[index] = argument.with_changes(value=new)
                    if keyword(argument) == "filename":
                        arguments[index] = as_keyword(arguments[index], "filepath")
                    changed = True
        if not changed:
            return updated
        return self.replace(original, updated.with_changes(args=tidy(arguments, updated)))

    def leave_Assign(self, original: cst.Assign, updated: cst.Assign) -> cst.Assign:
        """Rewrite ``path = 'weights.h5'`` where the name is saved to."""
        target = original.targets[0].target
        if len(original.targets) != 1 or not isinstance(target, cst.Name) or target.value not in self.saved_names:
            return updated
        value = self._ending(updated.value)
        if value is None:
            return updated
        self.replace(original.value, value)
        return updated.with_changes(value=value)

    def _was_saved(self, old: cst.BaseExpression, new: cst.BaseExpression) -> bool:
        name, new_name = literal(old), literal(new)
        if name in self.saved or self.code(old) in self.saved:
            return True
        return bool(name) and not self.context.exists(name) and self.context.exists(new_name)

    def _ending(self, value: cst.BaseExpression) -> cst.BaseExpression | None:
        """Return the expression with the new ending, or None where it has it or cannot be told."""
        if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
            right = self._ending(value.right)
            return None if right is None else value.with_changes(right=right)
        if isinstance(value, cst.FormattedString) and value.parts:
            last = value.parts[-1]
            if not isinstance(last, cst.FormattedStringText):
                return value.with_changes(parts=[*value.parts, cst.FormattedStringText(NEW)])
            ending = new_ending(last.value)
            parts = [*value.parts[:-1], last.with_changes(value=ending)]
            return None if ending == last.value else value.with_changes(parts=parts)
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.args:
            if self.path(value.func) == "os.path.join" and isinstance(value.args[-1].value, cst.SimpleString):
                name = self._ending(value.args[-1].value)
                if name is None:
                    return None
                return value.with_changes(args=[*value.args[:-1], value.args[-1].with_changes(value=name)])
            if value.func.attr.value == "format":
                inner = self._ending(value.func.value)
                return None if inner is None else value.with_changes(func=value.func.with_changes(value=inner))
        if not isinstance(value, cst.SimpleString) or not isinstance(value.evaluated_value, str):
            return None
        quote = value.quote
        body = value.value[len(value.prefix) + len(quote) : -len(quote)]
        ending = new_ending(body)
        return None if ending == body else value.with_changes(value=f"{value.prefix}{quote}{ending}{quote}")


def new_ending(name: str) -> str:
    """Return a file name with the ending of today.

    Example:
        >>> new_ending("cnn.h5"), new_ending("./checkpoints/my"), new_ending("w.weights.h5")
        ('cnn.weights.h5', './checkpoints/my.weights.h5', 'w.weights.h5')
    """
    if name.endswith(NEW):
        return name
    for old in _OLD:
        if name.endswith(old):
            stem = name.removesuffix(old)
            return (stem.removesuffix("_weights") if stem.endswith("/_weights") else stem) + NEW
    return name + NEW


def literal(value: cst.BaseExpression) -> str:
    """Return the text of a string literal, "" of anything else."""
    text = value.evaluated_value if isinstance(value, cst.SimpleString) else ""
    return text if isinstance(text, str) else ""


def saves_weights(call: cst.Call) -> bool:
    """Return whether a ModelCheckpoint saves weights only."""
    return any(keyword(one) == "save_weights_only" and getattr(one.value, "value", "") == "True" for one in call.args)


class _Saved(cst.CSTVisitor):
    """What a text saves weights to: literals by their text, other expressions by their code, and bare names."""

    def __init__(self, rewrite: Rewrite) -> None:
        self.rewrite = rewrite
        self.literals: set[str] = set()
        self.names: set[str] = set()

    def visit_Call(self, node: cst.Call) -> None:
        name = node.func.attr.value if isinstance(node.func, cst.Attribute) else getattr(node.func, "value", "")
        if not node.args or not (name == "save_weights" or (name == "ModelCheckpoint" and saves_weights(node))):
            return
        value = node.args[0].value
        if isinstance(value, cst.Name):
            self.names.add(value.value)
        else:
            self.literals.add(literal(value) or self.rewrite.code(value))
