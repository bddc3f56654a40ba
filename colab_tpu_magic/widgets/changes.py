"""Show what the rules changed as an HTML table: the first rows open, the others folded."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..rewrite.change import Change

OPEN_ROWS = 3
COLUMNS = (("Changed", 17), ("Before → after", 27), ("Why", 36), ("To have it otherwise", 20))
# A notebook's own style sheet aligns cells right and stripes the rows; inline styles win over it.
_CELL = "text-align:left;vertical-align:top;padding:6px 14px 6px 0;white-space:normal;overflow-wrap:anywhere"
_RULE = "border:0;border-top:1px solid rgba(128,128,128,.28)"


def changes_html(changes: Sequence[Change], title: str = "") -> str:
    """Return the changes as HTML, every text escaped; empty when there are none.

    Args:
        changes: In the order in which they were applied.
        title: What stands above them; their number when empty.
    """
    if not changes:
        return ""
    count = len(changes)
    title = escape(title) or f"{count} change{'' if count == 1 else 's'} for the TPU"
    parts = [
        f'<div style="font-weight:600;margin:10px 0 4px">{title}</div>',
        _table(changes[:OPEN_ROWS], headed=True),
    ]
    if count > OPEN_ROWS:
        summary = f'<summary style="cursor:pointer;padding:6px 0">{count - OPEN_ROWS} more</summary>'
        parts.append(f"<details>{summary}{_table(changes[OPEN_ROWS:], headed=False)}</details>")
    return f'<div style="max-width:1000px;font-size:13px;line-height:1.45">{"".join(parts)}</div>'


def _table(changes: Sequence[Change], headed: bool) -> str:
    widths = "".join(f'<col style="width:{width}%"/>' for _, width in COLUMNS)
    cells = "".join(f'<th style="{_CELL};border:0;font-weight:400;opacity:.65">{title}</th>' for title, _ in COLUMNS)
    head = f'<thead style="border:0"><tr style="background:none">{cells}</tr></thead>' if headed else ""
    rows = "".join(_row(change) for change in changes)
    style = "table-layout:fixed;width:100%;border-collapse:collapse;border:0;margin:0;font-size:inherit;color:inherit"
    return f'<table style="{style}"><colgroup>{widths}</colgroup>{head}<tbody>{rows}</tbody></table>'


def _row(change: Change) -> str:
    before, after, rule = escape(change.before), escape(change.after), escape(change.rule)
    source = f'<div style="opacity:.65;font-size:12px">Source: {escape(change.source)}</div>' if change.source else ""
    switch = f'<code style="white-space:nowrap">{escape(change.switch)}</code>' if change.switch else "–"
    cells = (
        f'{escape(change.title)}<div style="opacity:.65;font-size:12px"><code title="What to type for more: %tpu_explain {rule}">{rule}</code></div>',
        f'<span style="opacity:.75">{before}</span> → <span style="font-weight:600">{after}</span>',
        f"{escape(change.why)}{source}",
        switch,
    )
    row = "".join(f'<td style="{_CELL};{_RULE}">{cell}</td>' for cell in cells)
    return f'<tr style="background:none">{row}</tr>'
