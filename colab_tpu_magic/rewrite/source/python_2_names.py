"""Functions and methods that Python 3 calls otherwise: ``xrange``, ``raw_input``, ``d.iteritems()``."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite
from .context import Context
from .own_names import own_methods

FUNCTIONS = {"xrange": "range", "raw_input": "input"}
METHODS = {"iteritems": "items", "itervalues": "values", "iterkeys": "keys"}


class Python2Names(Rewrite):
    """Call what does the same today, unless the text defines the name itself."""

    id = "python-2-names"
    title = "Names of Python 3"
    why = "The name went with Python 2; what it did is called this in Python 3."
    source = "docs.python.org/3/whatsnew/3.0.html"
    hints = (*FUNCTIONS, *(f".{name}(" for name in METHODS))

    def __init__(self, module: cst.Module, context: Context) -> None:
        super().__init__(module, context)
        self.own = own_methods(module, self.names)

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        func = updated.func
        if isinstance(func, cst.Name) and func.value in FUNCTIONS and func.value not in self.names:
            return self.replace(original, updated.with_changes(func=cst.Name(FUNCTIONS[func.value])))
        if isinstance(func, cst.Attribute) and func.attr.value in METHODS and not updated.args:
            name = func.attr.value
            if not self.own.is_own(func.value, name):
                return self.replace(
                    original, updated.with_changes(func=func.with_changes(attr=cst.Name(METHODS[name])))
                )
        return updated
