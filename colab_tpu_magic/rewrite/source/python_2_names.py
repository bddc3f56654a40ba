"""Functions and methods that Python 3 calls otherwise: ``xrange``, ``unicode``, ``d.iteritems()``, ``d.has_key(k)``."""

from __future__ import annotations

import libcst as cst

from .base import Rewrite
from .context import Context
from .own_names import own_methods

FUNCTIONS = {"xrange": "range", "raw_input": "input", "unicode": "str", "unichr": "chr", "long": "int"}
METHODS = {"iteritems": "items", "itervalues": "values", "iterkeys": "keys"}
HAS_KEY = "has_key"
_BINDS_CLOSELY = cst.Name | cst.Attribute | cst.Call | cst.Subscript | cst.SimpleString | cst.Integer


class Python2Names(Rewrite):
    """Call what does the same today, unless the text defines the name itself."""

    id = "python-2-names"
    title = "Names of Python 3"
    why = "The name went with Python 2; what it did is called this in Python 3."
    source = "docs.python.org/3/whatsnew/3.0.html"
    hints = (*FUNCTIONS, *(f".{name}(" for name in (*METHODS, HAS_KEY)))

    def __init__(self, module: cst.Module, context: Context) -> None:
        super().__init__(module, context)
        self.own = own_methods(module, self.names)

    def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite one call."""
        func = updated.func
        if isinstance(func, cst.Name) and func.value in FUNCTIONS and func.value not in self.names:
            # With an encoding, what it is given may be str by now, which takes none.
            if func.value == "unicode" and len(updated.args) != 1:
                return updated
            return self.replace(original, updated.with_changes(func=cst.Name(FUNCTIONS[func.value])))
        if isinstance(func, cst.Attribute) and func.attr.value in METHODS and not updated.args:
            name = func.attr.value
            if not self.own.is_own(func.value, name):
                return self.replace(
                    original, updated.with_changes(func=func.with_changes(attr=cst.Name(METHODS[name])))
                )
        if isinstance(func, cst.Attribute) and func.attr.value == HAS_KEY and not self.own.is_own(func.value, HAS_KEY):
            return self._membership(original, updated, func.value)
        return updated

    def _membership(self, original: cst.Call, updated: cst.Call, of: cst.BaseExpression) -> cst.BaseExpression:
        """Return ``(k in d)`` for ``d.has_key(k)``."""
        if len(updated.args) != 1 or updated.args[0].keyword or updated.args[0].star:
            return updated
        key = updated.args[0].value
        if not isinstance(key, _BINDS_CLOSELY) and not getattr(key, "lpar", ()):
            key = key.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        return self.replace(
            original,
            cst.Comparison(key, [cst.ComparisonTarget(cst.In(), of)], lpar=[cst.LeftParen()], rpar=[cst.RightParen()]),
        )
