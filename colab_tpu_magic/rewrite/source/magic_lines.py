"""Magics and ``!`` commands: the old ones are taken out, the others hidden while the text is parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .result import Rewrote

_MARK = "pass  # tpu-magic line "
_MARKED = re.compile(r"pass  # tpu-magic line (\d+)(?=\r?\n|$)")
_PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun", "%%tpu_fit", "%%tpu_migrate", "%%tpu_check")
_VERSION = re.compile(r"^([ \t]*)(%tensorflow_version\b[^\n#]*)(.*)$", re.MULTILINE)
_INSTALL = re.compile(r"^([ \t]*)([!%]\s*(?:python\d?\s+-m\s+)?(?:pip|conda)\d?\s+install\b)([^\n]*)$", re.MULTILINE)
_OLD_PACKAGE = re.compile(
    r"""\s+["']?(?:tensorflow(?:[-_](?:gpu|cpu|tpu))?|tf[-_]estimator|keras)"""
    r"""(?:==|<=|~=|<)\s?(?:1(?:\.[\w.*]+)?|2(?:\.(?:\d|1[0-5])(?:\.[\w.*]+)?)?)["']?(?=\s|$)"""
)


@dataclass(frozen=True)
class Hidden:
    """A text without magics.

    Attributes:
        text: Python, with a marked ``pass`` where a magic stood.
        lines: What stood there, by number.
        head: A cell magic's own line and its line end; it stands above the text.
        whole: Whether the text is no Python at all (``%%bash``).
    """

    text: str
    lines: tuple[str, ...] = ()
    head: str = ""
    whole: str = ""


def old_lines(text: str) -> tuple[str, list[Rewrote]]:
    """Take ``%tensorflow_version`` and installations of an old TensorFlow or Keras out of a text."""
    if _is_foreign(text):
        return text, []
    rows: list[Rewrote] = []

    quoted = lines_in_strings(text)

    def record(match: re.Match[str], after: str, why: str) -> str:
        line = text.count("\n", 0, match.start()) + 1
        if line in quoted:
            return match.group()
        rows.append(Rewrote(line, "old-versions", match.group().strip(), after.strip(), why, _SOURCE))
        return after

    def version(match: re.Match[str]) -> str:
        comment = f"# {match[2]}{match[3]}"
        # In a block the line may be the only one.
        return record(match, f"{match[1]}pass  {comment}" if match[1] else comment, _VERSION_WHY)

    def install(match: re.Match[str]) -> str:
        rest = _OLD_PACKAGE.sub("", match[3])
        if rest == match[3]:
            return match.group()
        if any(not word.startswith("-") for word in rest.split("#")[0].split()):
            return record(match, f"{match[1]}{match[2]}{rest}", _INSTALL_WHY)
        comment = f"# {match[2]}{match[3]}"
        return record(match, f"{match[1]}pass  {comment}" if match[1] else comment, _INSTALL_WHY)

    if "%tensorflow_version" in text:
        text = _VERSION.sub(version, text)
    if "install" in text:
        before = text
        text = _INSTALL.sub(install, before)
    return text, rows


def lines_in_strings(text: str) -> set[int]:
    """Return the lines, from 1, that begin inside a string: no magic stands there.

    Example:
        >>> lines_in_strings("s = '''\\n!ls\\n'''\\n!ls")
        {2, 3}
    """
    found: set[int] = set()
    quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        place = 0
        if quote:
            found.add(number)
        elif line.lstrip()[:1] in ("!", "%"):
            continue
        while place < len(line):
            if quote:
                step = 2 if line[place] == "\\" else len(quote) if line.startswith(quote, place) else 1
                quote = "" if line.startswith(quote, place) else quote
            elif line[place] == "#":
                break
            else:
                opened = _QUOTE.match(line, place)
                quote = opened.group() if opened else ""
                step = len(quote) or 1
            place += step
        if len(quote) == 1 and not line.endswith("\\"):
            quote = ""  # never closed: no string at all
    return found


_QUOTE = re.compile(r"\"\"\"|'''|[\"']")
_SOURCE = "colab.research.google.com release notes: TensorFlow 1 was removed in August 2022"
_VERSION_WHY = "Colab has no choice of TensorFlow versions any more; what is installed runs."
_INSTALL_WHY = "There is no TensorFlow 1, and no Keras 2, for the Python of today; what is installed runs."


def hide(text: str) -> Hidden:
    """Return a text in which every line that only IPython understands is a marked ``pass``."""
    if _is_foreign(text):
        return Hidden("", whole=text)
    head = ""
    if text.lstrip().startswith("%%"):
        end = text.find("\n", text.index("%%"))
        head, text = (text[: end + 1], text[end + 1 :]) if end >= 0 else (text, "")
    if not any(mark in text for mark in "%!?"):
        return Hidden(text, head=head)
    kept: list[str] = []
    lines = text.splitlines(keepends=True)
    while (found := _next_magic(lines)) is not None:
        start, end = found
        whole = "".join(lines[start:end])
        body = whole.rstrip("\r\n")
        indent = body[: len(body) - len(body.lstrip())]
        lines[start:end] = [f"{indent}{_MARK}{len(kept)}{whole[len(body) :]}", *[""] * (end - start - 1)]
        kept.append(body[len(indent) :])
    return Hidden("".join(lines), tuple(kept), head)


def show(text: str, hidden: Hidden) -> str:
    """Put hidden lines back."""
    if hidden.whole:
        return hidden.whole
    return hidden.head + _MARKED.sub(lambda match: hidden.lines[int(match[1])], text)


def _is_foreign(text: str) -> bool:
    """Return whether a cell magic says that its cell is not Python."""
    first = text.lstrip().partition("\n")[0]
    return first.startswith("%%") and first.split()[0] not in _PYTHON_CELLS


def _next_magic(lines: list[str]) -> tuple[int, int] | None:
    """Return the first and one past the last line of the first magic, where IPython itself sees one."""
    from IPython.core import inputtransformer2 as ipython

    try:
        tokens = ipython.make_tokens_by_line([line for line in lines if line])
    except Exception:
        return None
    present = [index for index, line in enumerate(lines) if line]
    kinds = (ipython.MagicAssign, ipython.SystemAssign, ipython.EscapedCommand, ipython.HelpEnd)
    starts = [found.start_line for kind in kinds if (found := kind.find(tokens)) is not None]
    start = starts[0] if starts else _system_assignment(tokens)
    if start is None:
        return None
    end = ipython.find_end_of_continued_line([lines[index] for index in present], start)
    return present[start], present[min(end, len(present) - 1)] + 1


def _system_assignment(tokens: list[list[Any]]) -> int | None:
    """Return the line of ``files = !ls`` where IPython misses it: 7.34 does on Python 3.12 and later."""
    for line in tokens:
        for sign, following in zip(line, line[1:]):
            if sign.string == "{":  # f"{name=!r}" has the same two signs
                break
            if sign.string == "=" and following.string == "!":
                return int(following.start[0]) - 1
    return None
