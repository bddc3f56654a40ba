"""Write docs/magics.md from the argument declarations of the magics, so that it cannot drift."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from colab_tpu_magic import options as options_module
from colab_tpu_magic.magics import TpuMagics, class_of, names

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "magics.md"
HEAD = """\
# The magics

Made by `python tools/make_reference.py` from the argument declarations; edit those, not this file.
In a notebook the same stands behind a question mark, for example `%tpu_fit?`.
"""


def reference() -> str:
    """Return the text of docs/magics.md."""
    every = names()
    contents = "\n".join(f"- [`{name}`](#{name.lstrip('%')})" for name in every)
    parts = [HEAD, contents + "\n", *(_section(name) for name in every), _settings()]
    return "\n".join(parts).rstrip("\n") + "\n"


def _section(name: str) -> str:
    method = getattr(class_of(name), name.lstrip("%"))
    parser = getattr(method, "parser", None)
    # With a parser IPython replaces the docstring by help, whose layout differs between Python versions.
    doc = inspect.cleandoc((parser.description if parser is not None else method.__doc__) or "")
    heading = f'<a id="{name.lstrip("%")}"></a>\n\n## {" and ".join(f"`{form}`" for form in _forms(name))}\n'
    parts = [heading, _markdown(doc)]
    if parser is not None:
        parts.append(_arguments(parser))
    return "\n".join(part for part in parts if part)


def _forms(name: str) -> list[str]:
    """Return a magic's cell and line form, as far as it has them."""
    bare, magics = name.lstrip("%"), class_of(name).magics
    forms = [
        ("%%" + bare) if bare in magics["cell"] else "",
        ("%" + bare) if bare in magics["line"] else "",
    ]
    return [form for form in forms if form]


def _markdown(doc: str) -> str:
    """Turn a docstring into Markdown: an indented block after ``::`` becomes a fenced one."""
    parts = []
    lines = doc.splitlines()
    while lines:
        block = [lines.pop(0)]
        indented = block[0].startswith("  ")
        while lines and (not lines[0].strip() or lines[0].startswith("  ") == indented):
            block.append(lines.pop(0))
        text = textwrap.dedent("\n".join(block)).strip("\n")
        if indented:
            parts.append(f"```python\n{text}\n```\n")
        else:
            # IPython before 9 starts the description with its own `::` and usage.
            text = re.sub(r"\s*::$", ":", text.rstrip())
            parts.append(text.replace("``", "`") + "\n")
    return "\n".join(parts)


def _arguments(parser: Any) -> str:
    actions = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    if not actions:
        return ""
    defaults = _defaults({action.dest for action in actions})
    rows = ["| Argument | Default | What it does |", "| --- | --- | --- |"]
    for action in sorted(actions, key=lambda action: bool(action.option_strings)):
        cells = (_argument(action), _default(defaults.get(action.dest)), action.help or "")
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _argument(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.dest} ...`" if action.nargs in ("*", "+") else f"`{action.dest}`"
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    value = f" [{value.strip()}]" if action.nargs == "?" else value
    return ", ".join(f"`{flag}{value}`" for flag in action.option_strings)


def _defaults(dests: set[str]) -> dict[str, Any]:
    """Return the defaults of the options class whose fields these arguments are."""
    for options_class in vars(options_module).values():
        if not inspect.isclass(options_class) or not dataclasses.is_dataclass(options_class):
            continue
        fields = dataclasses.fields(options_class)
        if {field.name for field in fields} <= dests:
            return {field.name: field.default for field in fields}
    return {}


def _default(value: Any) -> str:
    return "" if value is None or value is False or value == () else f"`{value}`"


def _settings() -> str:
    """Return the traits that ``%config TpuMagics`` sets."""
    traits = TpuMagics.class_own_traits(config=True)
    if not traits:
        return ""
    rows = ["| Setting | Default | What it does |", "| --- | --- | --- |"]
    for name, trait in sorted(traits.items()):
        text = str(trait.help).replace("|", "\\|")
        rows.append(f"| `TpuMagics.{name}` | `{trait.default()!r}` | {text} |")
    intro = 'Defaults for the whole notebook, for example `%config TpuMagics.batch_size = "keep"`.'
    return f"## Settings\n\n{intro}\n\n" + "\n".join(rows) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the reference, or check it, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the file is not current")
    check = parser.parse_args(arguments).check
    text = reference()
    if check:
        if REFERENCE.exists() and REFERENCE.read_text(encoding="utf-8") == text:
            return 0
        print("docs/magics.md is not current.\nType: python tools/make_reference.py", file=sys.stderr)
        return 1
    REFERENCE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
