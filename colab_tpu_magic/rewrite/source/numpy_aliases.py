"""``np.float``, ``np.Inf``, ``pd.np``: aliases that NumPy and pandas took away."""

from __future__ import annotations

import re

import libcst as cst

from .base import Rewrite
from .context import Context
from .names import dotted, node_of

BUILTINS = {
    "float": "float",
    "int": "int",
    "bool": "bool",
    "object": "object",
    "str": "str",
    "complex": "complex",
    "long": "int",
    "unicode": "str",
}
RENAMED = {
    "float_": "float64",
    "complex_": "complex128",
    "unicode_": "str_",
    "string_": "bytes_",
    "Inf": "inf",
    "Infinity": "inf",
    "NaN": "nan",
    "NAN": "nan",
    "product": "prod",
    "cumproduct": "cumprod",
    "sometrue": "any",
    "alltrue": "all",
    "row_stack": "vstack",
    "in1d": "isin",
    "trapz": "trapezoid",
}
_ANY = re.compile(rf"\.(?:np|{'|'.join((*BUILTINS, *RENAMED))})\b")


class NumpyAliases(Rewrite):
    """Write what the alias stood for."""

    id = "numpy-aliases"
    title = "Aliases of NumPy"
    why = "NumPy took the alias away in 1.24 or 2.0, and pandas its pd.np in 2.0; it stood for exactly this."
    source = "numpy 1.20, 1.24 and 2.0 release notes; pandas 2.0 release notes"
    hints = ()

    @classmethod
    def suspects(cls, text: str, context: Context) -> bool:
        """Return whether one of the names may be in a text."""
        return _ANY.search(text) is not None

    def __init__(self, module: cst.Module, context: Context) -> None:
        super().__init__(module, context)
        self._compared: set[cst.CSTNode] = set()

    def visit_Call(self, node: cst.Call) -> None:
        """Remember the types that values are compared with: there NumPy's own bool is meant."""
        if isinstance(node.func, cst.Name) and node.func.value in ("isinstance", "issubclass"):
            self._compared |= {part for argument in node.args[1:] for part in _parts(argument.value)}

    def leave_Attribute(self, original: cst.Attribute, updated: cst.Attribute) -> cst.BaseExpression:
        """Rewrite one name."""
        path = self.path(original)
        if path == "pandas.np":
            numpy = next((name for name, what in self.names.items() if what == "numpy" and name != "numpy"), "np")
            self.needed["numpy"] = f"import numpy as {numpy}"
            return self.replace(original, cst.Name(numpy))
        if not path.startswith("numpy.") or path.count(".") > 1 or not dotted(original):
            return updated
        name = path.removeprefix("numpy.")
        if name in BUILTINS and not (name in ("bool", "long") and original in self._compared):
            return self.replace(original, cst.Name(BUILTINS[name]))
        if name in RENAMED:
            return self.replace(original, node_of(f"{dotted(original).rpartition('.')[0]}.{RENAMED[name]}"))
        return updated


def _parts(value: cst.BaseExpression) -> list[cst.CSTNode]:
    return [element.value for element in value.elements] if isinstance(value, cst.Tuple) else [value]
