"""Write the statements of Python 2 that Python 3 cannot read: ``print 'a'``, ``except E, e``, ``raise E, 'a'``, ``<>``."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterator
from tokenize import TokenInfo

from .result import Rewrote

_BLOCKS = ("if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class")
_LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
_WHY = {
    "print": "print is a function in Python 3.",
    "except": "Python 3 names a caught exception with as.",
    "raise": "Python 3 raises an exception that is made by a call.",
    "<>": "Python 3 writes != only.",
}
_SOURCE = "docs.python.org/3/whatsnew/3.0.html"
_PRINTS_TO_FILE = re.compile(r"\bprint\s*>>")
_BINDS_PRINT = re.compile(r"\bprint\s*=(?!=)|\bdef\s+print\b")
Place = tuple[int, int]


def python_3(text: str, reads: bool = False) -> tuple[str, list[Rewrote]]:
    """Return a text with the statements of Python 2 written anew, each on its own lines.

    Args:
        text: The text, without magics. Of one that Python 3 cannot read every ``print`` is taken for a statement.
        reads: Whether Python 3 can read it; then only ``print >>file, ...`` is old, which can be read and never run.

    Returns:
        The text and what was done; it may still be no Python.

    Example:
        >>> python_3("print 'a', b\\n")[0]
        "print('a', b)\\n"
    """
    if reads:
        is_old = _PRINTS_TO_FILE.search(text) and not _BINDS_PRINT.search(text)
        return _written(text, _print_to_file) if is_old else (text, [])
    text, unequal = _written(text, _unequal)
    text, others = _written(text, _anew)
    return text, sorted([*unequal, *others], key=lambda row: row.line)


def _written(
    text: str, anew: Callable[[list[TokenInfo], _Source], tuple[str, str] | None]
) -> tuple[str, list[Rewrote]]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return text, []
    source = _Source(text)
    edits = [(statement, new) for statement in _statements(tokens) if (new := anew(statement, source))]
    rows = []
    for statement, (kind, after) in edits:
        start, end = statement[0].start, statement[-1].end
        rows.append(Rewrote(start[0], "python-2", source.between(start, end), after, _WHY[kind], _SOURCE))
    for statement, (_, after) in reversed(edits):
        text = text[: source.at(statement[0].start)] + after + text[source.at(statement[-1].end) :]
    return text, rows


class _Source:
    """A text by the places that its tokens name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, 0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def at(self, place: Place) -> int:
        return self.starts[place[0]] + place[1]

    def between(self, start: Place, end: Place) -> str:
        return self.text[self.at(start) : self.at(end)]


def _statements(tokens: list[TokenInfo]) -> Iterator[list[TokenInfo]]:
    """Give the tokens of each simple statement and of each header of a block, without its colon."""
    statement: list[TokenInfo] = []
    depth = 0
    for token in tokens:
        if token.type in _LAYOUT:
            continue
        depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
        of_header = bool(statement) and statement[0].string in _BLOCKS
        if token.type == tokenize.NEWLINE or (
            depth == 0 and (token.string == ";" or (of_header and token.string == ":"))
        ):
            if statement:
                yield statement
            statement, depth = [], 0
        elif statement or token.string != ":":
            statement.append(token)
    if statement:
        yield statement


def _anew(statement: list[TokenInfo], source: _Source) -> tuple[str, str] | None:
    """Return which kind of old statement this is, and its code of today; None when it is none."""
    first = statement[0].string
    makers = {"print": _print, "except": _except, "raise": _raise}
    made = makers[first](statement, source) if first in makers else None
    return None if made is None else (first, made)


def _print_to_file(statement: list[TokenInfo], source: _Source) -> tuple[str, str] | None:
    return _anew(statement, source) if [token.string for token in statement[:2]] == ["print", ">>"] else None


def _print(statement: list[TokenInfo], source: _Source) -> str | None:
    others = statement[1:]
    if not others:
        return "print()"
    if others[0].string in ("=", ".", ":", ",") or (others[0].string == "(" and _closes(others) == len(others) - 1):
        return None
    file = ""
    if others[0].string == ">>":
        comma = next(_commas(others), len(others))
        if comma == 1 or len(others) == 1:
            return None
        file = f"file={source.between(others[1].start, others[comma - 1].end)}"
        others = others[comma + 1 :]
    end = ""
    if others and others[-1].string == ",":
        others, end = others[:-1], 'end=" "'
    values = source.between(others[0].start, others[-1].end) if others else ""
    given = ", ".join(one for one in (values, end, file) if one)
    # A line that goes on by a backslash behind the word keeps it: no line is lost.
    gap = source.between(statement[0].end, statement[1].start)
    return f"print({gap if chr(10) in gap and not file else ''}{given})"


def _except(statement: list[TokenInfo], source: _Source) -> str | None:
    comma = next(_commas(statement), 0)
    if comma < 2 or comma != len(statement) - 2 or statement[-1].type != tokenize.NAME:
        return None
    return f"{source.between(statement[0].start, statement[comma - 1].end)} as {statement[-1].string}"


def _raise(statement: list[TokenInfo], source: _Source) -> str | None:
    commas = list(_commas(statement))
    if len(commas) != 1 or not 2 <= commas[0] < len(statement) - 1:
        return None
    made = source.between(statement[0].start, statement[commas[0] - 1].end)
    return f"{made}({source.between(statement[commas[0] + 1].start, statement[-1].end)})"


def _unequal(statement: list[TokenInfo], source: _Source) -> tuple[str, str] | None:
    code, start = source.between(statement[0].start, statement[-1].end), source.at(statement[0].start)
    places = []
    for one, following in zip(statement, [*statement[1:], statement[-1]]):
        if one.string == "<>" or (one.string == "<" and following.string == ">" and following.start == one.end):
            places.append(source.at(one.start) - start)
    for place in reversed(places):
        code = f"{code[:place]}!={code[place + 2 :]}"
    return ("<>", code) if places else None


def _commas(tokens: list[TokenInfo]) -> Iterator[int]:
    """Give the places of the commas that stand in no bracket."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
        if token.string == "," and not depth:
            yield index


def _closes(tokens: list[TokenInfo]) -> int:
    """Return the place of the bracket that closes the first token's."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
        if depth == 0:
            return index
    return -1
