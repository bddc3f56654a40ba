"""A small table for people, as HTML with everything escaped and as aligned text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

# A notebook's own style sheet aligns cells right and stripes the rows; inline styles win over it.
_CELL = "vertical-align:top;text-align:left;padding:4px 16px 4px 0"
_ONE_LINE, _LINES = "white-space:nowrap", "white-space:normal;overflow-wrap:anywhere;min-width:110px"
LONG_TEXT = 24
"""Letters of a cell from which on its text may break, so that the table is not too wide."""
_RULE = "border:0;border-top:1px solid rgba(128,128,128,.28)"


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: What it says.
        below: A quiet second line.
        tip: What the pointer shows.
        mark: HTML of our own before the text: a dot, a piece of line.
    """

    text: str
    below: str = ""
    tip: str = ""
    mark: str = ""


def table_html(titles: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str = "") -> str:
    """Return a table as HTML; it scrolls by itself where it is too wide.

    Args:
        titles: Of the columns.
        rows: As many cells in each as there are titles.
        caption: What the table holds, for screen readers.
    """
    head = "".join(
        f'<th scope="col" style="{_CELL};border:0;font-weight:400;opacity:.7">{escape(title)}</th>' for title in titles
    )
    body = "".join(f'<tr style="background:none">{"".join(_cell(cell) for cell in row)}</tr>' for row in rows)
    # JupyterLab's sheet makes every column equally wide, so that a long name lies over the next column.
    table = "table-layout:auto;border-collapse:collapse;border:0;margin:0;font-size:inherit;color:inherit"
    return (
        f'<div style="overflow-x:auto;font:13px/1.4 system-ui,-apple-system,Segoe UI,DejaVu Sans,sans-serif">'
        f'<table aria-label="{escape(caption)}" style="{table};font-variant-numeric:tabular-nums">'
        f'<thead style="border:0"><tr style="background:none">{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def table_text(titles: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return a table as lines of text with aligned columns.

    Example:
        >>> print(table_text(("run", "loss"), [(Cell("first"), Cell("0.5"))]))
        run    loss
        first  0.5
    """
    lines = [list(titles), *([cell.text for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
    return "\n".join("  ".join(f"{text:<{width}}" for text, width in zip(line, widths)).rstrip() for line in lines)


def _cell(cell: Cell) -> str:
    tip = f' title="{escape(cell.tip)}"' if cell.tip else ""
    below = f'<div style="opacity:.7;font-size:12px">{escape(cell.below)}</div>' if cell.below else ""
    breaks = _LINES if len(cell.text) > LONG_TEXT else _ONE_LINE
    return f'<td{tip} style="{_CELL};{breaks};{_RULE}">{cell.mark}{escape(cell.text)}{below}</td>'
