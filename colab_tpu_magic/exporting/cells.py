"""The cells of a notebook as plain Python: notebook commands become comments, and ours go."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

OURS = ("tpu_", "tpu")
RUNS_ITS_CODE = ("time", "timeit", "prun", "capture")
NOTHING_IN_A_SCRIPT = "a notebook command; it does nothing in a script"


@dataclass(frozen=True)
class Cell:
    """One cell that was run.

    Attributes:
        number: As in ``In [3]``.
        text: Its code, with no notebook command in it.
        fits: Whether it was a ``%%tpu_fit`` cell, or has a ``%tpu_fit`` line.
        seed: What ``--seed`` said, or None.
    """

    number: int
    text: str
    fits: bool = False
    seed: int | None = None
    tree: ast.Module = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Parse the text."""
        object.__setattr__(self, "tree", ast.parse(self.text))


def cells_of(raw: list[str], transform: Callable[[str], str]) -> list[Cell]:
    """Return the cells that are Python.

    Args:
        raw: What was typed, by number; the first is number 0.
        transform: Turns a cell's magics into calls, as IPython does.
    """
    cells = []
    for number, typed in enumerate(raw):
        try:
            cells.append(cell_of(number, typed, transform))
        except (SyntaxError, ValueError):
            continue  # It did not run either.
    return cells


def cell_of(number: int, typed: str, transform: Callable[[str], str]) -> Cell:
    """Return one cell.

    Raises:
        SyntaxError: The cell is no Python.
    """
    first, _, body = typed.lstrip("\n").partition("\n")
    if first.startswith("%%tpu_fit"):
        return Cell(number, plain(trimmed(transform(body))), True, _seed(first))
    source = trimmed(transform(typed))
    return Cell(number, plain(source), "run_line_magic('tpu_fit'" in source, _seed_of_a_line(source))


def trimmed(text: str) -> str:
    """Return a text without empty lines around it, which call sites do not count either."""
    return text.lstrip("\n").rstrip("\n")


def plain(source: str) -> str:
    """Return transformed source without notebook commands; each line stays where it is.

    Raises:
        SyntaxError: The source is no Python.
    """
    lines = source.split("\n")
    for node in reversed(list(_commands(ast.parse(source)))):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        new = _replacement(node, "\n".join(lines[first : last + 1]).strip())
        made = [indent + line if line else "" for line in new.split("\n")]
        lines[first : last + 1] = made + [""] * (last - first + 1 - len(made))
    return "\n".join(lines)


def _commands(tree: ast.Module) -> list[ast.stmt]:
    found = [
        node for node in ast.walk(tree) if isinstance(node, ast.Expr | ast.Assign) and _command(node.value) is not None
    ]
    return sorted(found, key=lambda node: node.lineno)


def _command(node: ast.AST) -> tuple[str, list[str]] | None:
    """Return the method of the shell that a call asks for, and its arguments."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    owner = node.func.value
    if not (isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "get_ipython"):
        return None
    values = [one.value if isinstance(one, ast.Constant) else "" for one in node.args]
    return node.func.attr, [str(value) for value in values]


def _replacement(node: Any, text: str) -> str:
    method, arguments = _command(node.value) or ("", [])
    name, line, body = (*arguments, "", "", "")[:3]
    target = text[: text.index("get_ipython")]  # "" or "listed = "
    empty = "pass" if node.col_offset else ""
    if method in ("run_line_magic", "run_cell_magic"):
        if name == "tpu_fit" and method == "run_line_magic":
            return target + call_of_line(line)
        if name.startswith("tpu_") or name == "tpu" or (name, line.strip()) == ("load_ext", "colab_tpu_magic"):
            return empty
        if name in RUNS_ITS_CODE:
            code = body.rstrip("\n") if method == "run_cell_magic" else line
            if code and _is_python(code):
                return target + code
        typed = f"%%{name} {line}\n{body}" if method == "run_cell_magic" else f"%{name} {line}"
    else:
        typed = {"system": "!", "getoutput": "!", "getoutput_s": "!!"}.get(method, "") + name
    commented = "\n".join(f"# {one}".rstrip() for one in (target + typed).rstrip().split("\n"))
    return f"{commented}  ({NOTHING_IN_A_SCRIPT})" + (f"\n{empty}" if empty else "")


def made_by_command(cell: Cell, name: str) -> str:
    """Return the notebook command that made a name in a cell, as it was typed: ``!ls``; empty when none did."""
    for line in cell.text.split("\n"):
        if line.rstrip().endswith(f"({NOTHING_IN_A_SCRIPT})"):
            target, is_one, command = line.strip().removeprefix("# ").partition(" = ")
            if is_one and name in (one.strip() for one in target.split(",")):
                return command.removesuffix(f"({NOTHING_IN_A_SCRIPT})").strip()
    return ""


def call_of_line(line: str) -> str:
    """Return the call that a ``%tpu_fit`` line stands for.

    Example:
        >>> call_of_line("model x y --epochs 3"), call_of_line("--seed 0 model.fit(x, y)")
        ('model.fit(x, y)', 'model.fit(x, y)')
    """
    words = line.split(" ")
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("--"):
            skip = "=" not in word and word != "--quiet"
        elif word:
            kept.append(word)
    code = " ".join(kept)
    if _is_python(code):
        return code
    model, *data = kept
    return f"{model}.fit({', '.join(data)})"


def _is_python(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return True


def _seed(header: str) -> int | None:
    words = header.replace("=", " ").split()
    after = words[words.index("--seed") + 1 :] if "--seed" in words else []
    return int(after[0]) if after and after[0].isdigit() else None


def _seed_of_a_line(source: str) -> int | None:
    at = source.find("run_line_magic('tpu_fit', '")
    return _seed(source[at:].split("\n")[0].replace("'", " ")) if at >= 0 else None
