"""Expressions that read data in an exported script: arrays of what was given, some of their rows, batches of single rows."""

from __future__ import annotations

import ast

from ..errors import ExportError
from ..rewrite.forms.tf_data import FORM as TF_DATA
from ..training.recipe import OTHER, TREE, UNKNOWN, DataFacts

OF_FILES = ("image folder", "TFRecord dataset")
OF_TF_DATA = (TF_DATA, *OF_FILES)


def is_made(kind: str) -> bool:
    """Return whether arrays have to be made of what was given, before some of its rows can be taken."""
    return "{}" in kind


def as_array(text: str, kind: str, name: str) -> str:
    """Return the text of an array, or of a tree of them.

    Raises:
        ExportError: When nobody knows what makes arrays of the data.
    """
    if kind == UNKNOWN:
        raise ExportError(
            f"{name} holds data that was read row by row or made dense part by part, which is not written out.",
            expected="arrays.",
            type_next="x, y = (numpy.stack(part) for part in zip(*rows)) in a cell, model.fit(x, y), then %tpu_export",
        )
    if kind == OTHER:
        return f"np.asarray({text})"
    if kind.startswith("keras.tree"):
        return kind.format(text)
    return kind.format(followed(text)) if "{}" in kind else text


def dense(text: str, facts: DataFacts) -> tuple[str, set[str]]:
    """Return a dataset with its sparse and ragged tensors made dense, and the helpers for it."""
    fill = facts.fill[0] if facts.fill else 0.0
    return f"dense({text}{f', fill={_number(fill)}' if fill else ''})", {"dense", "tf"}


def batched(text: str, facts: DataFacts, size: int, full: str = "") -> tuple[str, set[str]]:
    """Return single rows in batches, those of different lengths padded to the longest of their batch; and the helpers."""
    if facts.longest and any(facts.fill):
        return f"padded_rows({text}, {size}, fill={numbers(facts.fill)}{full})", {"padded_rows", "tf"}
    padded = "padded_" if facts.longest else ""
    return f"{followed(text)}.{padded}batch({size}{full})", set()


def numbers(values: tuple[float, ...]) -> str:
    """Return the text of a list of numbers, whole ones without a point."""
    return f"[{', '.join(map(_number, values))}]"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def called(text: str, facts: DataFacts) -> str:
    """Return the text of the data, that of a call where a function makes it."""
    if not facts.call:
        return text
    return f"{followed(text)}{facts.call}"


def arrays_of_a_call(facts: DataFacts, arguments: dict[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the line that calls a function of arrays, and the arguments with the names that it binds."""
    if not facts.flat:
        raise ExportError(
            f"The function {arguments['x']} returns several inputs, which are not written out.",
            expected="the arrays themselves.",
            type_next="x, y = input_fn() in a cell, model.fit(x, y), then %tpu_export again",
        )
    names = ("x", "y", "sample_weight")[: facts.parts]
    made = {name: f"made_{name}" for name in names}
    return (f"{', '.join(made.values())} = {called(arguments['x'], facts)}",), arguments | made


def part(text: str, kind: str, rows: str | None) -> str:
    """Return the text of some of the rows of an array or of a tree of arrays."""
    if rows is None:
        return text
    if kind == TREE or kind.startswith("keras.tree"):
        return f"keras.tree.map_structure(lambda array: array{rows}, {text})"
    return f"{followed(text)}{rows}"


def followed(text: str) -> str:
    """Return an expression so that a dot, a bracket or an operator can follow it.

    Example:
        >>> followed("data.batch(3)"), followed("first + second")
        ('data.batch(3)', '(first + second)')
    """
    closed = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.List | ast.Dict
    return text if isinstance(_parsed(text), closed) and "\n" not in text else f"({text})"


def is_simple(text: str) -> bool:
    """Return whether a text can be read twice and be followed by a dot or a bracket."""
    node = _parsed(text)
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call):  # np.asarray(x), which is ours
        return ast.unparse(node.func) in ("np.asarray", "dense")
    return isinstance(node, ast.Name)


def _parsed(text: str) -> ast.expr:
    return ast.parse(f"({text}\n)", mode="eval").body
