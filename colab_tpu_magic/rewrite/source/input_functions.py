"""``fit(train_input_fn, steps_per_epoch=60)``: the function is called, what it returns is trained on."""

from __future__ import annotations

import re

import libcst as cst

from .base import Rewrite, keyword
from .context import Context

_CALL = re.compile(
    r"\.(?:fit|evaluate|predict)\(\s*(?:x\s*=\s*)?([A-Za-z_]\w*)\s*[,)]|validation_data\s*=\s*([A-Za-z_]\w*)"
)


class InputFunctions(Rewrite):
    """Call a function that is handed over as data."""

    id = "input-function"
    # %%tpu_fit itself takes a function as data, so that this alone makes no cell old (suspicion.py, magics/migrate.py).
    title = "The input function is called"
    why = "keras_to_tpu_model took the function and called it; Keras 3 itself takes what it returns, not the function."
    source = "the 2018 article on Keras and Colab's TPU; keras.io/api/models/model_training_apis"
    hints = (".fit(", ".evaluate(", ".predict(")

    @classmethod
    def suspects(cls, text: str, context: Context) -> bool:
        """Return whether a call is given the name of a function that is known."""
        names = {name for match in _CALL.finditer(text) for name in match.groups() if name}
        return any(
            name in context.functions or re.search(rf"\bdef {name}\b|\b{name} = lambda\b", text) for name in names
        )

    def __init__(self, module: cst.Module, context: Context) -> None:
        super().__init__(module, context)
        found = _Functions()
        module.visit(found)
        self.functions = (set(context.functions) | found.callable) - found.others

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite the data of one call."""
        func = updated.func
        if not isinstance(func, cst.Attribute) or func.attr.value not in ("fit", "evaluate", "predict"):
            return updated
        arguments = list(updated.args)
        for index, argument in enumerate(arguments):
            is_data = (index == 0 and not keyword(argument)) or keyword(argument) in ("x", "validation_data")
            if is_data and isinstance(argument.value, cst.Name) and argument.value.value in self.functions:
                called = self.replace(original.args[index].value, cst.Call(argument.value))
                arguments[index] = argument.with_changes(value=called)
        return updated.with_changes(args=arguments)


class _Functions(cst.CSTVisitor):
    """The functions of a text, by whether a call without arguments gives their data; other names that it binds.

    A generator function is never called: as a function it gives a fresh pass each epoch, its generator only one.
    """

    def __init__(self) -> None:
        self.callable: set[str] = set()
        self.others: set[str] = set()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        plain = _needs_nothing(node.params) and not _yields(node)
        (self.callable if plain else self.others).add(node.name.value)

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in node.targets:
            if isinstance(target.target, cst.Name):
                callable_ = isinstance(node.value, cst.Lambda) and _needs_nothing(node.value.params)
                (self.callable if callable_ else self.others).add(target.target.value)


class _Yields(cst.CSTVisitor):
    """Look for a yield of a function itself, not of one inside it."""

    def __init__(self) -> None:
        self.found = False

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def visit_Yield(self, node: cst.Yield) -> None:
        self.found = True


def _yields(function: cst.FunctionDef) -> bool:
    visitor = _Yields()
    function.body.visit(visitor)
    return visitor.found


def _needs_nothing(parameters: cst.Parameters) -> bool:
    every = (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)
    return all(one.default is not None for one in every)
