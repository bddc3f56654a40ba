"""Give blocks back the indentation they lost on a web page, where it is certain where they end."""

from __future__ import annotations

import re
from collections.abc import Callable

INDENT = "    "
_OPENS = re.compile(r"^\s*(async\s+)?(def|class|if|elif|else|for|while|try|except|finally|with)\b.*:\s*(#.*)?$")
_GOES_ON = {
    "try": ("except", "finally", "else"),
    "except": ("except", "else", "finally"),
    "if": ("elif", "else"),
    "elif": ("elif", "else"),
    "else": ("finally",),
    "for": ("else",),
    "while": ("else",),
}


def indent_again(text: str, parses: Callable[[str], bool]) -> tuple[str, list[int]]:
    """Return a text whose flat blocks are indented, and the numbers of the lines that were moved.

    A block ends at an empty line, at the end of the text, at its own ``else``, ``except`` or
    ``finally``; a function also behind its first ``return``. A loop outside of functions is given its line back where
    there is one line only: of several, nobody knows which are repeated. When the outcome is no Python, the text
    comes back as it was.

    Args:
        text: Python with lost indentation.
        parses: Says whether a text is Python.
    """
    lines = text.splitlines()
    moved: set[int] = set()
    place = 0
    while place < len(lines):
        body = _flat_body(lines, place)
        for index in body:
            if lines[index].strip():
                lines[index] = INDENT + lines[index]
                moved.add(index + 1)
        place += 1
    result = "\n".join(lines) + ("\n" if text.endswith("\n") else "")
    return (result, sorted(moved)) if moved and parses(result) else (text, [])


def _flat_body(lines: list[str], header: int) -> range:
    """Return the lines that belong into the block of a header and stand no deeper than it."""
    opened = _OPENS.match(lines[header])
    if opened is None:
        return range(0)
    indent = _depth(lines[header])
    first = header + 1
    while first < len(lines) and lines[first].lstrip().startswith("#"):
        first += 1
    if first >= len(lines) or not lines[first].strip() or _depth(lines[first]) > indent:
        return range(0)
    keyword = opened[2]
    end = first
    while end < len(lines) and lines[end].strip() and _depth(lines[end]) >= indent:
        word = re.match(r"\s*(\w*)", lines[end])
        if _depth(lines[end]) == indent and word is not None and word[1] in _GOES_ON.get(keyword, ()):
            break
        end += 1
        if keyword == "def" and word is not None and word[1] == "return" and _depth(lines[end - 1]) == indent:
            break
    if keyword in ("for", "while") and indent == 0 and sum(bool(line.strip()) for line in lines[first:end]) > 1:
        return range(0)  # what stands behind a loop may well be meant to run once
    return range(header + 1, end)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
