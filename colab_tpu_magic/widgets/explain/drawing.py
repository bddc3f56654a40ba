"""The strokes of the pictures: boxes, bars, texts and arrows, in colours for light and dark pages."""

from __future__ import annotations

from html import escape

# Okabe and Ito's palette: told apart by colour-blind people, on light and on dark pages.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
QUIET = 'opacity=".75"'
LETTER = 5.9
"""Width of a letter at 11 pixels, about."""


def picture(parts: list[str], width: float, height: float, description: str) -> str:
    """Return a picture as one SVG in the page's text colour.

    Args:
        parts: What is drawn, in order.
        width: Pixels.
        height: Pixels.
        description: The picture in words.
    """
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(description)}" font-family="system-ui, sans-serif" font-size="11" fill="currentColor" '
        f'style="display:block;width:100%;max-width:{width:g}px;height:auto">{"".join(parts)}</svg>'
    )


def text(x: float, y: float, words: str, more: str = "") -> str:
    """Return a text whose baseline begins at a point."""
    return f'<text x="{x:g}" y="{y:g}" {more}>{escape(words)}</text>'


def middle(x: float, y: float, words: str, more: str = "") -> str:
    """Return a text whose baseline has its middle at a point."""
    return text(x, y, words, f'text-anchor="middle" {more}')


def title(x: float, y: float, words: str) -> str:
    """Return the heading of a part of the picture."""
    return text(x, y, words, 'font-weight="600" font-size="12"')


def box(x: float, y: float, wide: float, high: float, colour: str, strength: float = 0.35, more: str = "") -> str:
    """Return a filled box with an outline of its colour; strength 0 leaves it empty."""
    fill = f'fill="{colour}" fill-opacity="{strength:g}"' if strength else 'fill="none"'
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="2" {fill} stroke="{colour}" '
        f'stroke-width="1.2" {more}/>'
    )


def outline(x: float, y: float, wide: float, high: float, dashed: bool = False) -> str:
    """Return an empty box in the text's colour."""
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="2" fill="none" stroke="currentColor" '
        f'stroke-opacity=".5"{dash}/>'
    )


def line(x1: float, y1: float, x2: float, y2: float, more: str = 'stroke="currentColor" stroke-opacity=".5"') -> str:
    """Return a straight line."""
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" fill="none" {more}/>'


def arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    """Return an arrow to the right or downwards."""
    head = f"M{x2 - 5:g} {y2 - 3.5:g}L{x2:g} {y2:g}L{x2 - 5:g} {y2 + 3.5:g}"
    if abs(y2 - y1) > abs(x2 - x1):
        head = f"M{x2 - 3.5:g} {y2 - 5:g}L{x2:g} {y2:g}L{x2 + 3.5:g} {y2 - 5:g}"
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}{head}" fill="none" stroke="currentColor" stroke-opacity=".7"/>'
