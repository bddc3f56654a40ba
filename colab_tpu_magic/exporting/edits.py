"""Change a text at positions that its syntax tree knows, and leave all else as it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """Put a text in the place of the characters from `start` to `stop`."""

    start: int
    stop: int
    text: str


class Source:
    """A text and where its lines begin.

    Args:
        text: Python source.
        edits: Changes that `segment` makes in what it returns.
    """

    def __init__(self, text: str, edits: Sequence[Edit] = ()) -> None:
        self.text = text
        self.edits = edits
        self.lines = text.split("\n")
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def offset(self, line: int, column: int) -> int:
        """Return the character at a line, from 1, and a column in UTF-8 bytes."""
        before = self.lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(before)

    def line_start(self, line: int) -> int:
        """Return the first character of a line, from 1; the end of the text after the last line."""
        return min(self._starts[line - 1], len(self.text))

    def span(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        """Return the first character of a node and the one after its last."""
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0),
        )

    def segment(self, node: ast.expr) -> str:
        """Return the text of an expression, on one line where it was written so."""
        start, stop = self.span(node)
        inside = [Edit(one.start - start, one.stop - start, one.text) for one in within(self.edits, start, stop)]
        return applied(self.text[start:stop], inside)

    def indent(self, line: int) -> str:
        """Return the white space at the beginning of a line, from 1."""
        text = self.lines[line - 1]
        return text[: len(text) - len(text.lstrip())]

    def begins_its_line(self, node: ast.stmt) -> bool:
        """Return whether nothing stands before a statement on its line."""
        start = self.offset(node.lineno, node.col_offset)
        return not self.text[self.line_start(node.lineno) : start].strip()


def within(edits: Iterable[Edit], start: int, stop: int) -> list[Edit]:
    """Return the edits that lie between two characters."""
    return [one for one in edits if start <= one.start and one.stop <= stop]


def applied(text: str, edits: list[Edit]) -> str:
    """Return a text with all edits made.

    Example:
        >>> applied("a = b", [Edit(0, 1, "x"), Edit(4, 5, "y")])
        'x = y'
    """
    for edit in sorted(edits, key=lambda one: (one.start, one.stop), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.stop :]
    return text


def statement_around(tree: ast.Module, node: ast.expr) -> ast.stmt:
    """Return the innermost statement that an expression stands in."""
    best: ast.stmt = tree.body[0]
    for one in ast.walk(tree):
        if isinstance(one, ast.stmt) and any(inner is node for inner in ast.walk(one)):
            best = one
    return best


def indented(text: str, indent: str) -> str:
    """Return a text with white space before each of its lines that are not empty."""
    return "\n".join(indent + line if line else "" for line in text.split("\n"))
