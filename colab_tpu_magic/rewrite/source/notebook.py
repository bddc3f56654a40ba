"""Bring the cells of a notebook up to date, each with what the cells before it have bound."""

from __future__ import annotations

import ast
import re
from typing import Any

from . import migrate_source
from .context import USUAL_NAMES, Context
from .magic_lines import hide
from .result import MigratedSource, Rewrote

CONNECT = "%load_ext colab_tpu_magic\n%tpu_connect"
INSTALL = "# Not installed yet? The package is in no index: type %pip install . in the folder of a clone of it."
REFUSED = "# %tpu_migrate: this cell holds what cannot be carried over."
UNREAD = "# %tpu_migrate: this cell cannot be read, so nothing of it was brought up to date."
_TRAINS = re.compile(r"\.(?:fit|evaluate|predict)\s*\(")
_OUR_CELL = re.compile(r"\s*%%tpu_")
_SOURCE = "docs/magics.md"


def migrate_notebook(
    notebook: dict[str, Any],
) -> tuple[tuple[tuple[int, MigratedSource], ...], tuple[Rewrote, ...]]:
    """Change a notebook of nbformat 4 in place.

    Cell ids, metadata and text cells stay; outputs and execution counts of code cells are taken out.
    A cell with what cannot be carried over gets a comment that says so and what to do.
    A cell that connects is put before the first code cell, and ``%%tpu_fit`` above each cell that
    trains, unless they are there.

    Args:
        notebook: The notebook as JSON gives it.

    Returns:
        What was done to each cell, by its number from 1 among the code cells of the new notebook, and what was added.
    """
    cells = notebook["cells"]
    code_cells = [cell for cell in cells if cell.get("cell_type") == "code"]
    code = ["".join(cell.get("source", "")) for cell in code_cells]
    whole = _context(code)
    done: list[tuple[int, MigratedSource]] = []
    added: list[Rewrote] = []
    connects = bool(code) and not any("load_ext colab_tpu_magic" in text for text in code)
    for number, (cell, text) in enumerate(zip(code_cells, code), 2 if connects else 1):
        result = migrate_source(text, whole)
        new = _told(result)
        if _TRAINS.search(_python(new)) and not _OUR_CELL.match(new):
            new = f"%%tpu_fit\n{new}"
            added.append(Rewrote(number, "tpu-fit", "", "%%tpu_fit", _FIT_WHY, _SOURCE))
        if result.is_old or result.notes:
            done.append((number, result))
        cell["source"] = new.splitlines(keepends=True) if isinstance(cell.get("source"), list) else new
        cell["outputs"], cell["execution_count"] = [], None
    notebook.get("metadata", {}).pop("widgets", None)  # the state of outputs that are gone
    if connects:
        place = next(index for index, cell in enumerate(cells) if cell.get("cell_type") == "code")
        cells.insert(place, _connect_cell(notebook))
        added.insert(0, Rewrote(1, "connect", "", CONNECT, _CONNECT_WHY, _SOURCE))
    return tuple(done), tuple(added)


_FIT_WHY = "A cell that trains runs on the accelerator with this line above it."
_CONNECT_WHY = "The accelerator is connected once, before Keras is imported: it decides which backend trains."


def _told(result: MigratedSource) -> str:
    """Return the text of today, with a comment at its top on what cannot be carried over."""
    if not result.refusals or REFUSED in result.text or UNREAD in result.text:
        return result.text
    if result.unread:
        (one,) = result.refusals
        return _below_comment(
            result.text, [UNREAD, f"# Line {one.line + 3} of it, {one.name}: {one.why}", f"#   {one.instead}"]
        )
    comment = [REFUSED]
    told = {(one.why, one.instead): one for one in reversed(result.refusals)}
    for why, instead in reversed(told):
        names = dict.fromkeys(" ".join(one.name.split()) for one in result.refusals if one.why == why)
        comment += [f"# {', '.join(names)}: {why}", f"#   {instead}"]
    return _below_comment(result.text, comment)


def _below_comment(text: str, comment: list[str]) -> str:
    """Return a cell with a comment at its top, below a cell magic."""
    first, newline, rest = text.partition("\n")
    if first.startswith("%%"):
        return "\n".join([first, *comment, rest]) if newline else text
    return "\n".join([*comment, text])


def _connect_cell(notebook: dict[str, Any]) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": "code"}
    if notebook.get("nbformat_minor", 0) >= 5:
        taken = {one.get("id") for one in notebook["cells"]}
        cell["id"] = next(name for n in range(len(taken) + 1) if (name := f"tpu-connect{n or ''}") not in taken)
    lines = f"{INSTALL}\n{CONNECT}".splitlines(keepends=True)
    return cell | {"metadata": {}, "execution_count": None, "outputs": [], "source": lines}


def _python(text: str) -> str:
    """Return a cell's Python without its comments' and strings' weight: only what can call."""
    hidden = hide(text).text
    try:
        calls = [node.func for node in ast.walk(ast.parse(hidden)) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError):
        return ""
    return "\n".join(f".{func.attr}(" for func in calls if isinstance(func, ast.Attribute))


def _context(code: list[str]) -> Context:
    """Return what all cells of a notebook bind: imports, functions that need nothing, saved weight files."""
    import libcst as cst

    from .engine import readable
    from .history_keys import metrics_in
    from .input_functions import InputFunctions
    from .names import names_in
    from .optimizer_arguments import sets_rate
    from .web_text import repair
    from .weight_files import WeightFiles

    names, functions, saved, metrics = dict(USUAL_NAMES), set[str](), set[str](), set[str]()
    for text in code:
        try:
            module = cst.parse_module(readable(repair(text)[0])[0].text)
        except cst.ParserSyntaxError:
            continue
        names = names_in(module, names)
        functions |= InputFunctions(module, Context()).functions
        metrics |= metrics_in(module)
        saved |= WeightFiles(module, Context(names)).saved
    rate = any(map(sets_rate, code))
    return Context(names, frozenset(functions), frozenset(saved), sets_rate=rate, metrics=frozenset(metrics))
