"""What the three pictures of a plan share: their colours, their frame, and text of a known width."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from ..svg import _NOT_XML

# Okabe and Ito's palette: told apart by colour-blind people, on light and on dark pages.
BLUE, SKY, GREEN, ORANGE, RED, PURPLE, GREY = (
    "#0072B2",
    "#56B4E9",
    "#009E73",
    "#E69F00",
    "#D55E00",
    "#CC79A7",
    "#8c8c8c",
)
QUIET = 'opacity=".72"'
LETTER = 6.3
"""Width of a letter at 12 pixels, about."""


@dataclass(frozen=True)
class Drawing:
    """One picture: what is drawn from its own corner, and its size in pixels.

    Attributes:
        parts: SVG elements.
        width: Pixels.
        height: Pixels.
        description: The picture in words.
    """

    parts: str
    width: float
    height: float
    description: str


def svg(drawing: Drawing, ink: str = "") -> str:
    """Return a picture as SVG that shrinks with the page, in the page's text colour or in one of its own."""
    colour = f' color="{escape(ink)}"' if ink else ""
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawing.width:g} {drawing.height:g}" role="img" '
        f'aria-label="{escape(drawing.description)}" font-family="system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif" '
        f'font-size="12" fill="currentColor"{colour} '
        f'style="display:block;width:100%;max-width:{drawing.width:g}px;height:auto">{drawing.parts}</svg>'
    )
    return _NOT_XML.sub("", text)


def stacked(drawings: list[Drawing], gap: float = 18) -> Drawing:
    """Return pictures below each other as one."""
    parts, y = [], 0.0
    for one in drawings:
        parts.append(f'<g transform="translate(0 {y:g})">{one.parts}</g>')
        y += one.height + gap
    width = max((one.width for one in drawings), default=1.0)
    return Drawing("".join(parts), width, max(1.0, y - gap), " ".join(one.description for one in drawings))


def text(x: float, y: float, words: str, more: str = "", tip: str = "") -> str:
    """Return a text, escaped, whose baseline begins at a point."""
    shown = f"<title>{escape(tip)}</title>" if tip else ""
    return f'<text x="{x:.5g}" y="{y:.5g}" {more}>{shown}{escape(words)}</text>'


def bar(x: float, y: float, wide: float, high: float, colour: str, tip: str = "", more: str = "") -> str:
    """Return a filled bar."""
    shown = f"<title>{escape(tip)}</title>" if tip else ""
    return (
        f'<rect x="{x:.5g}" y="{y:.5g}" width="{max(0.0, wide):.4g}" height="{high:g}" fill="{colour}" {more}>'
        f"{shown}</rect>"
    )


def line(x1: float, y1: float, x2: float, y2: float, more: str) -> str:
    """Return a straight line."""
    return f'<path d="M{x1:.5g} {y1:.5g}L{x2:.5g} {y2:.5g}" fill="none" {more}/>'


def fitted(words: str, width: float) -> str:
    """Cut a text to a width in pixels, at its end."""
    letters = max(3, int(width / LETTER))
    return words if len(words) <= letters else f"{words[: letters - 1].rstrip()}…"


def fitted_path(words: str, width: float) -> str:
    """Cut a layer's path to a width in pixels, at its beginning: its end tells it from the others."""
    letters = max(3, int(width / LETTER))
    return words if len(words) <= letters else f"…{words[-(letters - 1) :]}"


def legend(x: float, y: float, entries: list[tuple[str, str]], width: float) -> tuple[str, float]:
    """Return coloured squares with words, broken into lines, and the height they take."""
    parts, left, top = [], x, y
    for colour, words in entries:
        wide = 17 + LETTER * len(words) + 14
        if left + wide > x + width and left > x:
            left, top = x, top + 17
        parts.append(bar(left, top - 9, 10, 10, colour, more='rx="2"') + text(left + 15, top, words, QUIET))
        left += wide
    return "".join(parts), top - y + 17
