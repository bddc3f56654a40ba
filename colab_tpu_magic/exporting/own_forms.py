"""Write `tpu.images` and `tpu.tfrecords` as functions that the script brings along: it cannot call this package."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .cells import Cell
from .edits import Edit, Source

PACKAGE = "colab_tpu_magic"
PLAIN = {"images": "images_of_folder", "tfrecords": "rows_of_records"}


@dataclass(frozen=True)
class OwnForms:
    """Where a notebook reads files with this package.

    Attributes:
        edits: For each cell, by number, what puts the script's own functions in the place of ours.
        helpers: Names of these functions.
    """

    edits: dict[int, list[Edit]]
    helpers: frozenset[str]


def own_forms(cells: list[Cell], kept: dict[int, list[ast.stmt]]) -> OwnForms:
    """Return the edits that replace ``tpu.images`` and ``tpu.tfrecords``.

    Args:
        cells: All cells of the notebook, whose imports say under which names the package is known.
        kept: The statements that are kept, by the number of their cell.
    """
    packages: set[str] = set()
    functions: dict[str, str] = {}
    for cell in cells:
        for node in ast.walk(cell.tree):
            if isinstance(node, ast.Import):
                packages |= {one.asname or one.name for one in node.names if one.name == PACKAGE}
            elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
                functions |= {one.asname or one.name: one.name for one in node.names}
    edits: dict[int, list[Edit]] = {}
    helpers: set[str] = set()
    for cell in cells:
        source = Source(cell.text)
        for statement in kept.get(cell.number, []):
            for node in ast.walk(statement):
                plain = PLAIN.get(_name(node, packages, functions), "")
                if plain:
                    assert isinstance(node, ast.expr)
                    edits.setdefault(cell.number, []).append(Edit(*source.span(node), plain))
                    helpers |= {plain, "tf"}
            cuts = [one for one in ast.walk(statement) if isinstance(one, ast.keyword) and one.arg == "crop"]
            helpers |= {"cropped_image_of_size"} if cuts else set()
    if "images_of_folder" not in helpers:
        helpers.discard("cropped_image_of_size")
    return OwnForms(edits, frozenset(helpers))


def _name(node: ast.AST, packages: set[str], functions: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in packages:
        return node.attr
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return functions.get(node.id, "")
    return ""
