"""Bring source of TensorFlow's TPU years up to date: a text, a notebook, a module."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import OptionError

if TYPE_CHECKING:
    from .rewrite.source.result import MigratedSource, Rewrote


@dataclass(frozen=True)
class MigratedFile:
    """A file brought up to date.

    Attributes:
        path: The new file.
        cells: What is told of a cell, by its number from 1 among the new notebook's code cells; 0 is a module as a whole.
        added: What the notebook was given beside: a cell that connects, ``%%tpu_fit`` above cells that train.
    """

    path: Path
    cells: tuple[tuple[int, MigratedSource], ...]
    added: tuple[Rewrote, ...] = ()


def migrate(source: str, namespace: Mapping[str, Any] | None = None) -> MigratedSource:
    """Return source written for TensorFlow 1.11 to 2.4 as source of today.

    Comments, layout, magics and ``!`` commands stay. Migrating the outcome again changes nothing.

    Args:
        source: A cell or a module.
        namespace: Names that are bound already: the notebook's, to know its imports and functions.

    Returns:
        The text, what was rewritten and why, and what has no form of today.

    Example:
        >>> migrate("opt = tf.train.GradientDescentOptimizer(0.1)").text
        'opt = tf.keras.optimizers.SGD(0.1)'
    """
    if not isinstance(source, str):
        raise OptionError(
            f"source is a {type(source).__name__}.", expected="the text of a cell.", type_next="tpu.migrate(text)"
        )
    from .rewrite.source import Context, context_of, migrate_source

    try:
        return migrate_source(source, context_of(namespace) if namespace is not None else Context())
    except ModuleNotFoundError as error:
        if error.name != "libcst":
            raise
        raise OptionError(
            "Old code was found, and libcst, which reads it, is not installed.",
            type_next="%pip install libcst, or %%tpu_fit --no migrate",
        ) from None


def migrate_file(path: str | Path, force: bool = False) -> MigratedFile:
    """Write ``NAME.tpu.ipynb`` beside ``NAME.ipynb``, or ``NAME.tpu.py`` beside ``NAME.py``.

    The file itself is never changed. Outputs are left out of the new notebook: they are those of the old code.

    Args:
        path: A notebook of nbformat 4, or a module.
        force: Write over a file that is there.

    Raises:
        OptionError: The file cannot be read or written, with the line to type.
    """
    path = Path(path).expanduser()
    target = path.with_suffix(f".tpu{path.suffix}")
    if path.suffix not in (".ipynb", ".py"):
        raise OptionError(
            f"{path.name} is neither a notebook nor a module.",
            expected="a file that ends in .ipynb or .py.",
            type_next="%tpu_migrate old.ipynb",
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is no text in UTF-8'}.",
            expected="a file that is there.",
            type_next="%ls *.ipynb *.py",
        ) from None
    if target.exists() and not force:
        raise OptionError(
            f"{target.name} is there already.",
            expected="a new name, or --force to overwrite.",
            type_next=f"%tpu_migrate {path} --force",
        )
    new, made = _module(text, target) if path.suffix == ".py" else _notebook(text, path, target)
    try:
        target.write_text(new, encoding="utf-8")
    except OSError as error:
        raise OptionError(f"{target} cannot be written: {error.strerror}.", type_next="%pwd") from None
    return made


def _module(text: str, target: Path) -> tuple[str, MigratedFile]:
    result = migrate(text)
    return result.text, MigratedFile(target, ((0, result),) if result.is_old or result.notes else ())


def _notebook(text: str, path: Path, target: Path) -> tuple[str, MigratedFile]:
    from .rewrite.source.notebook import migrate_notebook

    try:
        notebook = json.loads(text)
        if not isinstance(notebook["cells"], list) or notebook["nbformat"] != 4:
            raise KeyError("cells")
    except (ValueError, KeyError, TypeError):
        raise OptionError(
            f"{path.name} is no notebook of nbformat 4.",
            expected="a notebook that Jupyter or Colab has saved since 2015.",
            type_next=f"!jupyter nbconvert --to notebook --inplace {path}",
        ) from None
    cells, added = migrate_notebook(notebook)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", MigratedFile(target, cells, added)
