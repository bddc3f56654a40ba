"""Compile a cell so that its syntax errors are shown as IPython shows those of a plain cell: without frames of ours."""

from __future__ import annotations

from typing import Any

from ..cell import Cell, compile_cell


class CellSyntaxError(Exception):
    """A syntax error of the user's cell.

    IPython prints all frames below a ``SyntaxError`` that comes out of a magic; what a cell's own would look like
    has none. So this one brings along what to print.

    Attributes:
        shown: Lines of the traceback.
        original: The error as Python raised it.
    """

    shown: list[str]
    original: SyntaxError

    def _render_traceback_(self) -> list[str]:
        return self.shown


def compiled(shell: Any, text: str, shown: str | None = None) -> Cell:
    """Compile a cell; see `compile_cell`.

    Args:
        shell: The InteractiveShell; IPython 7.34 to 9 were tried.
        text: The cell's text after the magic's line.
        shown: The text as the notebook shows it, where ``text`` is a migrated copy of it.

    Raises:
        CellSyntaxError: The text is no Python. Its class is called as the error's own.
    """
    try:
        return compile_cell(shell, text, shown)
    except SyntaxError as error:
        raise as_in_a_plain_cell(shell, error) from None


def as_in_a_plain_cell(shell: Any, error: SyntaxError) -> CellSyntaxError:
    """Return a syntax error as one that IPython shows without frames, under its own name."""
    kind: Any = type(type(error).__name__, (CellSyntaxError,), {})
    error.__context__ = None  # what was handled meanwhile would be shown above it
    made: CellSyntaxError = kind(str(error))
    made.shown = shell.SyntaxTB.structured_traceback(type(error), error, [])
    made.original = error
    return made
