"""Write a run out: `export`, which ``tpu.export`` and ``%tpu_export`` call."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..errors import ExportError
from ..session import session

if TYPE_CHECKING:
    from ..training.run import Run
    from .document import Document

ENDINGS = (".py", ".ipynb")


def export(
    run: Run | int | None = None, path: str | os.PathLike[str] | None = None, *, force: bool = False, shell: Any = None
) -> str:
    """Return a run as a plain Keras script: the cells it depends on, and what the rules changed.

    Args:
        run: The run or its number; the last one when None.
        path: Also write it to this file, ``.py`` or ``.ipynb``; ``~`` is your home.
        force: Write over a file that is there.
        shell: The IPython shell whose cells made the run; that of this process when None.

    Returns:
        The text of the script, also when a notebook is written.

    Raises:
        ExportError: When there is no such run, when something that it depends on cannot be written
            out, or when the file is there already or cannot be written.

    Example:
        >>> text = export(path="digits.py")  # doctest: +SKIP
    """
    if path is not None:
        path = os.path.expanduser(os.fspath(path))
        check_path(path, force)
    document = document_for(run, shell)
    text = document.script()
    if path is not None:
        from .notebook import notebook_of

        _write(path, notebook_of(document) if path.lower().endswith(".ipynb") else text)
    return text


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ExportError(
            f"{path} cannot be written: {error.strerror or error}.",
            expected="a file in a folder that takes one.",
            type_next="%tpu_export run.py",
        ) from None


def document_for(run: Run | int | None = None, shell: Any = None) -> Document:
    """Return a run as a document.

    Raises:
        ExportError: When there is no such run, or it cannot be written out.
    """
    from IPython import get_ipython

    from .assemble import document_of

    shell = shell if shell is not None else get_ipython()
    wanted = _run(run)
    raw = list(shell.history_manager.input_hist_raw) if shell is not None else []
    return document_of(
        wanted, session.runs, raw, shell.transform_cell if shell is not None else lambda text: text, session.raised
    )


def check_path(path: str, force: bool) -> None:
    """Raise ExportError when a file cannot be written to."""
    if not path.lower().endswith(ENDINGS):
        raise ExportError(
            f"{path!r} is neither a script nor a notebook.",
            expected="a file that ends in .py or .ipynb.",
            type_next="%tpu_export run.py",
        )
    if os.path.isdir(path):
        inside = os.path.join(path, "run.py")
        raise ExportError(f"{path} is a folder.", expected="a file.", type_next=f"%tpu_export {quoted(inside)}")
    if os.path.exists(path) and not force:
        raise ExportError(
            f"{path} is there already.",
            expected="a new file, or --force.",
            type_next=f"%tpu_export {quoted(path)} --force",
        )
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        name = quoted(os.path.basename(path))
        raise ExportError(f"There is no folder {folder}.", type_next=f"%tpu_export {name}")


def quoted(path: str) -> str:
    """Return a path as a line of a magic takes it.

    Example:
        >>> quoted("run.py"), quoted("my run.py")
        ('run.py', '"my run.py"')
    """
    return f'"{path}"' if len(path.split()) != 1 else path


def _run(run: Run | int | None) -> Run:
    if run is None:
        if session.last_run is None:
            raise ExportError(
                "There is no run to export yet.", expected="a fit.", type_next="%%tpu_fit above a cell that trains"
            )
        return session.last_run
    if not isinstance(run, int):
        return run
    found = next((one for one in session.runs if one.number == run), None)
    if found is None:
        numbers = [one.number for one in session.runs]
        raise ExportError(
            f"There is no run {run}.",
            expected=f"numbers from {min(numbers)} to {max(numbers)}." if numbers else "a run: train something first.",
            type_next="%tpu_runs",
        )
    return found
