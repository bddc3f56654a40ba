"""Run the body of a cell magic as IPython runs a cell: same namespace, true line numbers, last value."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass
from typing import Any

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
SKIPPED_TOKENS = (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT)


@dataclass(frozen=True)
class Cell:
    """A compiled cell body.

    Attributes:
        filename: The name under which its lines show in tracebacks.
        body: Code of all statements but a last expression.
        value: Code of the last expression, or None.
        silent: Whether a last ``;`` keeps the value from being shown.
        defines: Whether it holds nothing but functions, classes and imports.
    """

    filename: str
    body: Any
    value: Any
    silent: bool
    defines: bool = False

    def run(self, namespace: dict[str, Any]) -> Any:
        """Execute it in a namespace and return the last value, or None when silent."""
        __tracebackhide__ = True
        exec(self.body, namespace)
        if self.value is None:
            return None
        result = eval(self.value, namespace)
        return None if self.silent else result


def compile_cell(shell: Any, text: str, shown: str | None = None) -> Cell:
    """Compile the body of a cell whose first line is the magic's own.

    Magics and ``!`` commands in it work. An empty line stands where the magic is, so that
    a traceback names the line that the notebook shows.

    Args:
        shell: The InteractiveShell; IPython 7.34 to 9 were tried.
        text: The cell's text after the magic's line.
        shown: The text as the notebook shows it, where ``text`` is a migrated copy of it: a traceback
            names its lines. A line that was rewritten is named as the line it stands for.

    Raises:
        SyntaxError: As the cell alone would.
    """
    source = "\n" + shell.transform_cell(text)
    cached = source if shown is None else "\n" + shown
    filename = shell.compile.cache(cached, shell.execution_count, raw_code="\n" + (shown or text))
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename))
    defines = bool(tree.body) and all(isinstance(statement, _DEFINITIONS) for statement in tree.body)
    if shown is not None:
        _renumber(tree, source, cached)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if last is not None:
        tree.body.pop()
    body = shell.compile(tree, filename, "exec")
    value = shell.compile(ast.Expression(last.value), filename, "eval") if last is not None else None
    return Cell(filename, body, value, ends_with_semicolon(text), defines)


def _renumber(tree: ast.Module, text: str, shown: str) -> None:
    """Give every node the line that it has in the shown text; a rewritten line has no columns to point at."""
    from .rewrite.source.lines import line_map

    lines, old, new = line_map(shown, text), shown.splitlines(), text.splitlines()
    for each in ast.walk(tree):
        node: Any = each
        if not hasattr(node, "lineno"):
            continue
        first, last = node.lineno, node.end_lineno or node.lineno
        node.lineno, node.end_lineno = lines[first], max(lines[last], lines[first])
        if any(new[line - 1] != old[lines[line] - 1] for line in (first, last)):
            node.col_offset, node.end_col_offset = 0, 0


def ends_with_semicolon(text: str) -> bool:
    """Return whether the last token of a cell is a semicolon.

    Example:
        >>> ends_with_semicolon("model.fit(x, y);  # quiet"), ends_with_semicolon("'a;'")
        (True, False)
    """
    try:
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in SKIPPED_TOKENS]
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return text.rstrip().endswith(";")
    return bool(tokens) and tokens[-1].string == ";"


def line_of(error: BaseException, filename: str) -> int | None:
    """Return the cell's line that an exception passed through last, or None."""
    line, frame = None, error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == filename:
            line = frame.tb_lineno
        frame = frame.tb_next
    return line
