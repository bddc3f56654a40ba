"""Bring a text up to date: make it readable, set magics aside, apply every rewrite."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

import libcst as cst

from .base import Rewrite
from .context import Context
from .lines import line_map
from .magic_lines import Hidden, hide, old_lines, show
from .python_2 import python_3
from .result import MigratedSource, Refused, Rewrote
from .web_text import parses, repair, why_unread

Row = TypeVar("Row", Rewrote, Refused)
_PRINT = re.compile(r"^([ \t]*)print\b(?!\s*\().*$", re.MULTILINE)
_MEND = "Mend the line; then everything else is brought up to date."


def migrate_text(text: str, context: Context, rewrites: tuple[type[Rewrite], ...]) -> MigratedSource:
    """Return a text with every idiom brought up to date.

    Args:
        text: A cell or a module; magics and ``!`` commands in it are left as they are.
        context: What is known beside the text.
        rewrites: In the order in which they are applied.
    """
    repaired, rows = repair(text)
    current, told = old_lines(repaired)
    rows = [*rows, *_moved(told, text, repaired)]
    hidden, told = readable(current)
    lines = _lines(text, current, hidden)
    rows += [_at(row, lines) for row in told]
    if wrong := _why_unread(hidden.text):
        return _unread(text, hidden, lines, *wrong, from_a_page=repaired != text)
    try:
        module = cst.parse_module(hidden.text)
    except cst.ParserSyntaxError as error:
        said = f"what rewrites it, libcst, stops here ({error.message})"
        return _unread(text, hidden, lines, error.raw_line, said, from_a_page=repaired != text)
    refusals: list[Refused] = []
    notes: list[Rewrote] = []
    for kind in rewrites:
        code = module.code
        if not kind.suspects(code, context):
            continue
        rewrite = kind(module, context)
        changed = rewrite.run()
        if not _stays_python(code, changed.code):
            continue  # what it did is no Python; everything else still is
        module = changed
        lines = _lines(text, show(code, hidden), hidden)
        rows += [_at(row, lines) for row in rewrite.rewrites]
        notes += [_at(row, lines) for row in rewrite.notes]
        refusals += [_at(refused, lines) for refused in rewrite.refusals]
    new = show(module.code, hidden)
    if not rows or (new != current and not parses(new)):
        return MigratedSource(text, (), _ordered(refusals), _ordered(notes))
    return MigratedSource(new, _ordered(rows), _ordered(refusals), _ordered(notes))


def _why_unread(code: str) -> tuple[int, str] | None:
    """Return why a text cannot be read; of a print statement, which alone would be written anew, what else there is."""
    wrong = why_unread(code)
    if wrong is None or not wrong[1].startswith("Missing parentheses"):
        return wrong
    return why_unread(_PRINT.sub(r"\1pass", code)) or wrong


def readable(text: str) -> tuple[Hidden, list[Rewrote]]:
    """Return a text without its magics, as Python 3 reads it, and which statements of Python 2 were written anew."""
    hidden = hide(text)
    code, rows = python_3(hidden.text, reads=not why_unread(hidden.text))
    return replace(hidden, text=code), rows


def _stays_python(before: str, after: str) -> bool:
    return after == before or not why_unread(after)


def _unread(text: str, hidden: Hidden, lines: list[int], line: int, said: str, from_a_page: bool) -> MigratedSource:
    """Give the text back as it is, and say of one line why it cannot be read."""
    own = lines[min(line, len(lines) - 1)]
    code = [*text.splitlines(), ""][own - 1].strip()
    if from_a_page:
        why = f"It is no Python even with the marks of a web page taken out of it: {said}."
        instead = "Copy the code again, or give the lines back the indentation they have lost."
        return MigratedSource(text, refusals=(Refused(own, "this text", why, instead),))
    end = "" if said.endswith("?") else "."
    refused = Refused(own, code, f"It cannot be read as Python 3: {said}{end}", _MEND, unread=True)
    return MigratedSource(text, refusals=(refused,))


def _lines(text: str, shown: str, hidden: Hidden) -> list[int]:
    """Return, for each line of what is parsed of a text that is shown, its line in the given text."""
    return line_map(text, shown)[hidden.head.count("\n") :]


def _at(row: Row, lines: list[int]) -> Row:
    return replace(row, line=lines[min(row.line, len(lines) - 1)])


def _moved(rows: list[Rewrote], text: str, repaired: str) -> list[Rewrote]:
    if text == repaired:
        return rows
    lines = line_map(text, repaired)
    return [_at(row, lines) for row in rows]


def _ordered(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(sorted(dict.fromkeys(rows), key=lambda row: row.line))
