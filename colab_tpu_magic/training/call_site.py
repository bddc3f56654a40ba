"""Find the place in the notebook at which a `fit` was called: the cell, and the position in its text."""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import dataclass
from types import FrameType

OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
PANEL_FILE = os.path.join("training", "trials.py")
PANEL = "the training panel"


@dataclass(frozen=True)
class CallSite:
    """Where a call stands.

    Attributes:
        cell: Text of the cell that ran, magics in it turned into calls; empty outside of IPython.
        caller: Text of the cell in which the call itself stands: the same, or one that defines a function.
        end_line: Last line of the call in `caller`, from 1; 0 when the caller is no cell.
        end_column: Where the call ends in that line, in UTF-8 bytes; -1 while unknown.
        elsewhere: The file of the function that called, when it is no cell; or `PANEL`.
    """

    cell: str = ""
    caller: str = ""
    end_line: int = 0
    end_column: int = -1
    elsewhere: str = ""


def call_site() -> CallSite:
    """Return the place from which the code of this package was called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame):
        if frame.f_code.co_filename == OURS + PANEL_FILE:
            return CallSite(elsewhere=PANEL)
        frame = frame.f_back
    if frame is None:
        return CallSite()
    caller = frame
    cells = []
    while frame is not None:
        text = _cell_text(frame)
        if text:
            cells.append(text)
        frame = frame.f_back
    cell = _trimmed(cells[-1])[0] if cells else ""
    caller_text, leading = _trimmed(_cell_text(caller))
    if not caller_text:
        name = caller.f_code.co_filename
        return CallSite(cell, elsewhere="" if name.startswith("<") else name)
    line, column = _end_of_call(caller)
    return CallSite(cell, caller_text, line - leading, column)


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(OURS)


def _cell_text(frame: FrameType) -> str:
    """Return the text of the cell that a frame runs, empty for anything that is no cell."""
    name = frame.f_code.co_filename
    if _is_ours(frame) or name.startswith("<frozen") or os.path.exists(name):
        return ""
    text = "".join(linecache.getlines(name))
    # What IPython runs for a cell magic; the body is a cell of its own, further in.
    return "" if text.startswith("get_ipython().run_cell_magic(") else text


def _trimmed(text: str) -> tuple[str, int]:
    """Return a text without its leading empty lines, and how many these were."""
    trimmed = text.lstrip("\n")
    return trimmed.rstrip("\n"), len(text) - len(trimmed)


def _end_of_call(frame: FrameType) -> tuple[int, int]:
    positions = list(frame.f_code.co_positions())
    _, line, _, column = positions[frame.f_lasti // 2]
    return (line or frame.f_lineno), (-1 if column is None else column)
