"""Show what a migration did: each rewrite with its line, before and after, reason and source."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..rewrite.source.result import MigratedSource, Refused, Rewrote

OPEN_ROWS = 4
OF_A_PAGE = ("typographic-quotes", "web-spaces")
COLUMNS = (("Line", 7), ("Before → after", 53), ("Why", 40))
# A notebook's own style sheet aligns cells right and stripes the rows; inline styles win over it.
CELL_STYLE = "text-align:left;vertical-align:top;padding:6px 14px 6px 0;white-space:normal;overflow-wrap:anywhere"
ROW_RULE = "border:0;border-top:1px solid rgba(128,128,128,.28)"
LONG_CODE = 400
"""Letters of code that a row shows."""
_CODE = "white-space:pre-wrap;overflow-wrap:anywhere;background:none;padding:0;color:inherit;font-size:12px"
Named = tuple[str, "MigratedSource"]


def report(parts: Sequence[Named], heading: str, added: Sequence[Rewrote] = ()) -> dict[str, str]:
    """Return the report as a MIME bundle.

    Args:
        parts: What each cell is called ("" for the only one) and what was done to it.
        heading: What to say above, a sentence.
        added: What was put in beside.
    """
    return {"text/html": _html(parts, heading, added), "text/plain": _text(parts, heading, added)}


def heading_of(result: MigratedSource, where: str) -> str:
    """Return the sentence above a report.

    Args:
        result: What was done.
        where: Of what, for example ``"this cell"``.
    """
    if result.unread:
        return f"{where[0].upper()}{where[1:]} cannot be read as Python 3, so nothing of it was brought up to date."
    return f"{counted([result], where)}." if result.is_old else f"Nothing in {where} is old."


def counted(results: Sequence[MigratedSource], where: str = "") -> str:
    """Return how many places were brought up to date and how many not, without a full stop.

    Args:
        results: What was done to each cell.
        where: Of what, for one cell: places are told of only where there are any.
    """
    count = sum(len(result.rewrites) for result in results)
    unread = sum(result.unread for result in results)
    refused = sum(len(result.refusals) for result in results) - unread
    of = f" of {where}" if where else ""
    said = [f"{count} place{'' if count == 1 else 's'}{of} brought up to date"] if count or not where else []
    if refused:
        said.append(f"{refused} cannot be carried over")
    if unread:
        said.append(f"{unread} cannot be read as Python 3")
    return ", ".join(said)


def refusal_text(refusals: Sequence[Refused]) -> str:
    """Return what to tell of code that cannot be carried over: each name, why, and what to do."""
    told = []
    for refused in dict.fromkeys(refusals):
        told.append(f"Line {refused.line}: {refused.name}\n  {refused.why}\n  {refused.instead}")
    return "\n".join(told)


def together(rewrites: Sequence[Rewrote]) -> list[tuple[tuple[int, ...], Rewrote]]:
    """Return rewrites with their lines: what a web page did to many lines is told once, with all of them."""
    told: dict[object, tuple[tuple[int, ...], Rewrote]] = {}
    for row in rewrites:
        key: object = row.rule if row.rule in OF_A_PAGE else row
        lines, first = told.get(key, ((), row))
        told[key] = ((*lines, row.line), first)
    return sorted(told.values(), key=lambda one: one[1].rule in OF_A_PAGE)


def _text(parts: Sequence[Named], heading: str, added: Sequence[Rewrote]) -> str:
    lines = [heading]
    for name, result in parts:
        for numbers, row in together(result.rewrites):
            lines.append(f"  {_place(name, numbers)}: {_flat(row.before)} → {_flat(row.after) or '(not needed)'}")
            lines.append(f"      {row.why} Source: {row.source}")
        for refused in result.refusals:
            lines.append(f"  {_place(name, (refused.line,))}: {refused.name} {_verdict(refused)}")
            lines.append(f"      {refused.why} {refused.instead}")
        for row in result.notes:
            lines.append(f"  {_place(name, (row.line,))}: {_flat(row.before)} stays")
            lines.append(f"      {row.why} Source: {row.source}")
    for row in added:
        lines.append(f"  code cell {row.line}: added {_flat(row.after)}")
        lines.append(f"      {row.why}")
    return "\n".join(lines)


def _html(parts: Sequence[Named], heading: str, added: Sequence[Rewrote]) -> str:
    rows = [row for name, result in parts for row in _rows(name, result)]
    rows += [_row(f"code cell {row.line}", _after(row.after), row.why, row.source) for row in added]
    body = [f'<div style="font-weight:600;margin:10px 0 4px">{escape(heading)}</div>']
    if rows:
        body.append(_table(rows[:OPEN_ROWS], headed=True))
    if len(rows) > OPEN_ROWS:
        summary = f'<summary style="cursor:pointer;padding:6px 0">{len(rows) - OPEN_ROWS} more</summary>'
        body.append(f"<details>{summary}{_table(rows[OPEN_ROWS:], headed=False)}</details>")
    return f'<div style="max-width:1000px;font-size:13px;line-height:1.45">{"".join(body)}</div>'


def _rows(name: str, result: MigratedSource) -> list[str]:
    rows = [
        _row(
            _place(name, (one.line,), ""),
            f"{_code(one.name)} <b>{_verdict(one)}</b>",
            f"{one.why} {one.instead}",
            "",
        )
        for one in result.refusals
    ]
    above: tuple[str, str] | None = None
    for numbers, row in together(result.rewrites):
        reason = (row.why, row.source)
        told = ("As above.", "") if reason == above else reason
        rows.append(_row(_place(name, numbers, ""), f"{_code(row.before, 0.75)} → {_after(row.after)}", *told))
        above = reason
    for row in result.notes:
        rows.append(_row(_place(name, (row.line,), ""), f"{_code(row.before)} stays", row.why, row.source))
    return rows


def _verdict(refused: Refused) -> str:
    return "cannot be read" if refused.unread else "cannot be carried over"


def _place(name: str, numbers: Sequence[int], word: str = "line") -> str:
    """Return ``code cell 3, line 5``, or the numbers alone where the column says what they are."""
    listed = ", ".join(str(number) for number in numbers)
    if not name:
        return f"{word}{'s' if len(numbers) > 1 and word else ''} {listed}".strip()
    return f"{name}, line{'s' if len(numbers) > 1 else ''} {listed}"


def _flat(code: str) -> str:
    return " ".join(code.split())


def _after(code: str) -> str:
    return f'<span style="font-weight:600">{_code(code)}</span>' if code else "<i>not needed</i>"


def _code(code: str, opacity: float = 1) -> str:
    shown = code if len(code) <= LONG_CODE else f"{code[:LONG_CODE]}…"
    return f'<code style="{_CODE};opacity:{opacity:g}">{escape(shown)}</code>'


def _row(place: str, what: str, why: str, source: str) -> str:
    told = f'<div style="opacity:.65;font-size:12px">Source: {escape(source)}</div>' if source else ""
    cells = (escape(place), what, f"{escape(why)}{told}")
    row = "".join(f'<td style="{CELL_STYLE};{ROW_RULE}">{cell}</td>' for cell in cells)
    return f'<tr style="background:none">{row}</tr>'


def _table(rows: Sequence[str], headed: bool) -> str:
    widths = "".join(f'<col style="width:{width}%"/>' for _, width in COLUMNS)
    cells = "".join(
        f'<th style="{CELL_STYLE};border:0;font-weight:400;opacity:.65">{escape(title)}</th>' for title, _ in COLUMNS
    )
    head = f'<thead style="border:0"><tr style="background:none">{cells}</tr></thead>' if headed else ""
    style = "table-layout:fixed;width:100%;border-collapse:collapse;border:0;margin:0;font-size:inherit;color:inherit"
    return f'<table style="{style}"><colgroup>{widths}</colgroup>{head}<tbody>{"".join(rows)}</tbody></table>'
