"""Which files a statement writes, by the names that stand in its text."""

from __future__ import annotations

import ast
import re

WRITERS = ("save", "write", "dump", "to_", "tofile", "imsave", "imwrite", "copy", "move", "urlretrieve", "extract")
FILE = re.compile(r"[^\n]*[/\\].+|[^\n]+\.\w+")
WRITER_CLASSES = ("TFRecordWriter", "ZipFile", "File")


def texts_of(node: ast.AST) -> set[str]:
    """Return the texts in some code."""
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def written_by(statement: ast.stmt) -> set[str]:
    """Return the texts that a statement gives to calls that write; none of a definition, which only may be called.

    Example:
        >>> written_by(ast.parse("np.savez('data.npz', x=x)").body[0]), written_by(ast.parse("open('a')").body[0])
        ({'data.npz'}, set())
    """
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return set()
    return {
        text
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and _writes(node)
        for text in texts_of(node)
        if FILE.fullmatch(text)
    }


def _writes(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "open":
        given = [*call.args[1:], *(one.value for one in call.keywords if one.arg == "mode")]
        modes = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return any(set(mode) & set("wax") and len(mode) < 4 for mode in modes)
    return name.startswith(WRITERS) or name in WRITER_CLASSES
