"""Remember which cells raised, and where, so that a script leaves out what did not run."""

from __future__ import annotations

import linecache
from typing import Any

from ..session import session


def watch_cells(shell: Any) -> None:
    """Note from now on how each cell of a shell ends."""
    unwatch_cells(shell)
    shell.events.register("post_run_cell", note_cell)


def unwatch_cells(shell: Any) -> None:
    """Note no more."""
    if note_cell in shell.events.callbacks["post_run_cell"]:
        shell.events.unregister("post_run_cell", note_cell)


def note_cell(result: Any) -> None:
    """Remember a cell that ended in an error; what IPython calls after each cell.

    An interrupt is no error here: what was trained before it counts.
    """
    from IPython import get_ipython

    shell = get_ipython()
    error = result.error_before_exec or result.error_in_exec
    info = getattr(result, "info", None)
    if (
        shell is None
        or error is None
        or isinstance(error, KeyboardInterrupt)
        or not getattr(info, "store_history", True)
    ):
        return
    session.raised[len(shell.history_manager.input_hist_raw) - 1] = line_that_raised(error, shell.user_ns)


def line_that_raised(error: BaseException, namespace: dict[str, Any]) -> int | None:
    """Return the line of a cell's code, from 1, that an error came out of; None when it is not known.

    In a cell magic the lines are counted from the one below the magic.
    """
    one: BaseException | None = error
    in_magic = False
    while one is not None:
        trace = one.__traceback__
        while trace is not None:
            frame = trace.tb_frame
            if frame.f_globals is namespace:
                text = "".join(linecache.getlines(frame.f_code.co_filename)).lstrip()
                if not text.startswith("get_ipython().run_cell_magic("):
                    return trace.tb_lineno - in_magic
                in_magic = True
            trace = trace.tb_next
        one = one.__context__
    return None
