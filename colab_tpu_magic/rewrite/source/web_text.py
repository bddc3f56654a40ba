"""Repair what a web page does to code: typographic quotes, spaces that are none, lost indentation."""

from __future__ import annotations

import ast
import re
import warnings

from .lost_indentation import indent_again
from .magic_lines import hide
from .result import Rewrote

QUOTES = {"‘": "'", "’": "'", "‚": "'", "‛": "'", "′": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "″": '"'}
SPACES = dict.fromkeys("\u00a0\u2002\u2003\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
NOTHING = dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", "")
MINUS = {"\u2212": "-"}
_STRAIGHT = re.compile(r'[rbufRBUF]{0,2}("""|\'\'\')')
_QUOTES_WHY = "A web page had turned the quotes into typographic ones, which Python does not read."
_SPACES_WHY = "A web page had put spaces and signs into the code that Python does not read."
_INDENT_WHY = "The block had lost its indentation on a web page; where it ends is told by its return or an empty line."
_SOURCE = "docs.python.org/3/reference/lexical_analysis.html"


def looks_copied(text: str) -> bool:
    """Return whether a text has letters that a web page puts into code."""
    return not text.isascii() and any(letter in text for letter in (*QUOTES, *SPACES, *NOTHING, *MINUS))


def parses(text: str) -> bool:
    """Return whether a text is Python once its magics are set aside."""
    return why_unread(hide(text).text) is None


def why_unread(code: str) -> tuple[int, str] | None:
    """Return the line, from 1, at which Python stops reading a text without magics, and why; None when it is Python.

    Example:
        >>> why_unread("a = 1"), why_unread("f(b=1, b=2)")
        (None, (1, 'keyword argument repeated: b'))
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "cell", "exec", dont_inherit=True, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        return error.lineno or 1, str(error.msg).rstrip(".")
    except ValueError as error:
        return 1, str(error)
    return None


def repair(text: str) -> tuple[str, list[Rewrote]]:
    """Return a text with the marks of a web page taken out, and what was done.

    A text that is Python already is left alone: its typographic quotes are in strings and comments.
    """
    if parses(text):
        return text, []
    rows: list[Rewrote] = []
    before = text
    if looks_copied(text):
        text = straighten(text)
        rows = [
            Rewrote(number, rule, old.strip(), new.strip(), why, _SOURCE)
            for number, (old, new) in enumerate(zip(before.splitlines(), text.splitlines()), 1)
            if old != new
            for rule, why in [_kind(old)]
        ]
        if parses(text):
            return text, rows
    indented, numbers = indent_again(text, parses)
    if numbers:
        first = indented.splitlines()[numbers[0] - 1].strip()
        count = len(numbers)
        what = f"{first} … ({count} lines)" if count > 1 else first
        rows.append(
            Rewrote(numbers[0], "lost-indentation", what, "the same, indented as a block", _INDENT_WHY, _SOURCE)
        )
        return indented, rows
    return (text, rows) if rows else (before, [])


def _kind(line: str) -> tuple[str, str]:
    quoted = any(letter in line for letter in QUOTES)
    return ("typographic-quotes", _QUOTES_WHY) if quoted else ("web-spaces", _SPACES_WHY)


def straighten(text: str) -> str:
    """Replace typographic quotes that delimit strings, and odd spaces, outside of strings and comments.

    Example:
        >>> straighten("print(‘a’)  # ‘as it is’")
        "print('a')  # ‘as it is’"
    """
    out: list[str] = []
    place = 0
    while place < len(text):
        letter = text[place]
        if letter == "#":
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
            out.append(text[place:end])
        elif letter in "\"'":
            end = _end_of_straight(text, place)
            out.append(text[place:end])
        elif letter in QUOTES:
            end = _end_of_typographic(text, place)
            out.append(_quoted(text[place + 1 : end - 1], QUOTES[letter]))
        else:
            end = place + 1
            out.append({**SPACES, **NOTHING, **MINUS}.get(letter, letter))
        place = end
    return "".join(out)


def _end_of_straight(text: str, start: int) -> int:
    quote = text[start : start + 3] if text[start : start + 3] in ('"""', "'''") else text[start]
    place = start + len(quote)
    while place < len(text):
        if text[place] == "\\":
            place += 2
        elif text.startswith(quote, place):
            return place + len(quote)
        elif text[place] == "\n" and len(quote) == 1:
            return place
        else:
            place += 1
    return len(text)


def _end_of_typographic(text: str, start: int) -> int:
    """Return one past the closing quote: the first of the same kind that no letter follows."""
    kind = QUOTES[text[start]]
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    last = start + 1
    for place in range(start + 1, end):
        if QUOTES.get(text[place], text[place]) == kind:
            last = place + 1
            if not text[place + 1 : place + 2].isalnum():
                return last
    return last


def _quoted(content: str, quote: str) -> str:
    """Return a string literal of a content: typographic quotes inside it are text and stay."""
    inner = "".join(SPACES.get(letter, NOTHING.get(letter, letter)) for letter in content)
    if quote not in inner:
        return f"{quote}{inner}{quote}"
    other = '"' if quote == "'" else "'"
    return f"{other}{inner}{other}" if other not in inner else quote + inner.replace(quote, f"\\{quote}") + quote
