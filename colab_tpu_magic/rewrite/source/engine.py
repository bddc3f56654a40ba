"""Bring a text up to date: repair what a web page did to it, set magics aside, apply every rewrite."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

import libcst as cst

from .base import Rewrite
from .context import Context
from .lines import line_map
from .magic_lines import hide, old_lines, show
from .result import MigratedSource, Refused, Rewrote
from .web_text import parses, repair

Row = TypeVar("Row", Rewrote, Refused)


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
    hidden = hide(current)
    try:
        module = cst.parse_module(hidden.text)
    except cst.ParserSyntaxError as error:
        return _unreadable(text, error, rows)
    refusals: list[Refused] = []
    notes: list[Rewrote] = []
    for kind in rewrites:
        code = module.code
        if not kind.suspects(code, context):
            continue
        rewrite = kind(module, context)
        module = rewrite.run()
        lines = line_map(text, show(code, hidden))[hidden.head.count("\n") :]
        rows += [_at(row, lines) for row in rewrite.rewrites]
        notes += [_at(row, lines) for row in rewrite.notes]
        refusals += [_at(refused, lines) for refused in rewrite.refusals]
    new = show(module.code, hidden)
    if not rows or (new != current and not parses(new)):
        return MigratedSource(text, (), _ordered(refusals), _ordered(notes))
    return MigratedSource(new, _ordered(rows), _ordered(refusals), _ordered(notes))


def _unreadable(text: str, error: cst.ParserSyntaxError, rows: list[Rewrote]) -> MigratedSource:
    """Give the text back as it is; refuse it only where it looked like copied from a page."""
    if not rows:
        return MigratedSource(text)
    refused = Refused(
        error.raw_line,
        "this text",
        f"It is no Python even with the marks of a web page taken out of it: {error.message}.",
        "Copy the code again, or give the lines back the indentation they have lost.",
    )
    return MigratedSource(text, refusals=(refused,))


def _at(row: Row, lines: list[int]) -> Row:
    return replace(row, line=lines[min(row.line, len(lines) - 1)])


def _moved(rows: list[Rewrote], text: str, repaired: str) -> list[Rewrote]:
    if text == repaired:
        return rows
    lines = line_map(text, repaired)
    return [_at(row, lines) for row in rows]


def _ordered(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(sorted(dict.fromkeys(rows), key=lambda row: row.line))
