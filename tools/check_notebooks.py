"""Check that the notebooks are valid, are stored without outputs, and hold code that compiles and fits on a page."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
WIDEST = 88
"""Letters of a line of code that a printed page shows; what is longer is cut off at its edge."""
# The cells of these hold no Python, or none of today.
NO_PYTHON = ("bash", "sh", "html", "javascript", "writefile", "svg", "latex", "markdown", "tpu_migrate")
# IPython 7.34 does not know `files = !ls` on Python 3.12 and later.
ASSIGNED = re.compile(r"^(\s*\w[\w, ]*=\s*)[!%].*$")


def python_of(source: str) -> str:
    """Return the Python of a cell: its magics and shell lines replaced, its line numbers kept.

    A cell magic that is ours or IPython's runs Python, so its line goes and its body stays; the
    body of one that runs another language goes too.

    Example:
        >>> python_of("%%tpu_fit --epochs 3\\nmodel.fit(x, y)")
        'pass\\nmodel.fit(x, y)'
    """
    lines = source.splitlines()
    lines = ["pass" if line.startswith("%%") else ASSIGNED.sub(r"\1None", line) for line in lines]
    if source.startswith(tuple(f"%%{name}" for name in NO_PYTHON)):
        return "pass"
    from IPython.core.inputtransformer2 import TransformerManager

    # What IPython itself makes of `%magic`, `x = %magic`, `!command` and `name?`.
    return TransformerManager().transform_cell("\n".join(lines)).rstrip("\n")


def faults_of(notebook: Any) -> list[str]:
    """Return one sentence for each fault of a notebook as it was read."""
    faults = []
    try:
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        faults.append(f"not a valid notebook: {str(error).splitlines()[0]}")
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type != "code":
            continue
        if cell.outputs:
            faults.append(f"cell {number} is stored with outputs")
        if cell.execution_count is not None:
            faults.append(f"cell {number} is stored with an execution count")
        for line, text in enumerate(cell.source.splitlines(), start=1):
            if len(text) > WIDEST:
                faults.append(f"cell {number} has {len(text)} letters in line {line}, more than the {WIDEST} of a page")
        try:
            # A cell may await at its top level, as a kernel allows.
            compile(python_of(cell.source), f"cell {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            faults.append(f"cell {number} does not compile: {error.msg}, line {error.lineno}")
    if "widgets" in notebook.metadata:
        faults.append("widget states are stored in the notebook's metadata")
    return faults


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the notebooks named, or all, print the faults and return the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    paths = [Path(name) for name in given] or sorted(NOTEBOOKS.rglob("*.ipynb"))
    paths = [path for path in paths if ".ipynb_checkpoints" not in path.parts]
    wrong = 0
    for path in paths:
        for fault in faults_of(nbformat.read(path, as_version=nbformat.NO_CONVERT)):
            print(f"{path}: {fault}", file=sys.stderr)
            wrong += 1
    print(f"{len(paths)} notebook{'' if len(paths) == 1 else 's'} checked, {wrong} fault{'' if wrong == 1 else 's'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
