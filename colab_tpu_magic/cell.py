"""Run the body of a cell magic as IPython runs a cell: same namespace, true line numbers, last value."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass
from typing import Any

SKIPPED_TOKENS = (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT)


@dataclass(frozen=True)
class Cell:
    """A compiled cell body.

    Attributes:
        filename: The name under which its lines show in tracebacks.
        body: Code of all statements but a last expression.
        value: Code of the last expression, or None.
        silent: Whether a last ``;`` keeps the value from being shown.
    """

    filename: str
    body: Any
    value: Any
    silent: bool

    def run(self, namespace: dict[str, Any]) -> Any:
        """Execute it in a namespace and return the last value, or None when silent."""
        __tracebackhide__ = True
        exec(self.body, namespace)
        if self.value is None:
            return None
        result = eval(self.value, namespace)
        return None if self.silent else result


def compile_cell(shell: Any, text: str) -> Cell:
    """Compile the body of a cell whose first line is the magic's own.

    Magics and ``!`` commands in it work. An empty line stands where the magic is, so that
    a traceback names the line that the notebook shows.

    Args:
        shell: The InteractiveShell; IPython 7.34 to 9 were tried.
        text: The cell's text after the magic's line.

    Raises:
        SyntaxError: As the cell alone would.
    """
    source = "\n" + shell.transform_cell(text)
    filename = shell.compile.cache(source, shell.execution_count, raw_code="\n" + text)
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename))
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if last is not None:
        tree.body.pop()
    body = shell.compile(tree, filename, "exec")
    value = shell.compile(ast.Expression(last.value), filename, "eval") if last is not None else None
    return Cell(filename, body, value, ends_with_semicolon(text))


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
