"""Find files by a pattern, and say what to type when a bare path is given as data."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Any

from ..errors import DataError

RECORD_ENDINGS = (".tfrecord", ".tfrecords", ".tfrec", ".record")


def refuse_path(x: Any, takes_text: bool = False) -> None:
    """Raise DataError when data is a path, a pattern or a list of paths, with the line to type instead.

    Args:
        x: The data.
        takes_text: Whether it is for a model that begins with text.
    """
    first = x[0] if isinstance(x, list | tuple) and x else x
    if not isinstance(first, str | os.PathLike):
        return
    if isinstance(x, list | tuple) and not os.fspath(first).endswith(RECORD_ENDINGS):
        return
    if takes_text and isinstance(x, str):
        raise DataError(
            "x is one string, and the model takes rows of text.",
            expected="a list of texts, one a row.",
            type_next=f"model.predict([{x if len(x) <= 40 else x[:39] + '…'!r}])",
        )
    path = os.fspath(first)
    shown = repr(path) if first is x else "paths"
    if os.path.isdir(path):
        raise DataError(
            f"x is the path of a folder, {shown}.",
            expected="the images in it, read by tpu.images.",
            type_next=f"model.fit(tpu.images({path!r}, size=(224, 224)))",
        )
    raise DataError(
        f"x is a path, {shown}." if first is x else "x is a list of paths.",
        expected="the rows in the files, read by tpu.tfrecords.",
        type_next=f'model.fit(tpu.tfrecords({shown}, features={{"x": ("float32", (20,)), "y": "int64"}}, label="y"))',
    )


def list_parent(path: str) -> str:
    """Return the line that lists the nearest folder above a local path that is there.

    Args:
        path: A path or a pattern of which nothing is there.

    Example:
        >>> list_parent("nothere/z-*")
        '!ls'
    """
    if "://" in path:
        return f"!gsutil ls {path.rpartition('/')[0]}/" if path.startswith("gs://") else "!ls"
    folder = os.path.dirname(path)
    while folder and not os.path.isdir(os.path.expanduser(folder)):
        folder = os.path.dirname(folder) if os.path.dirname(folder) != folder else ""
    if not folder:
        return "!ls"
    return f"!ls {folder}" if folder.startswith("~") and " " not in folder else f"!ls {shlex.quote(folder)}"


def matching(files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the files that a path, a pattern or a list of them names, sorted, each once.

    Args:
        files: Local paths, or others that TensorFlow reads (``gs://...``).

    Raises:
        DataError: When there is none.
    """
    import tensorflow as tf

    patterns = [files] if isinstance(files, str | os.PathLike) else list(files)
    found = sorted({path for pattern in patterns for path in tf.io.gfile.glob(os.path.expanduser(os.fspath(pattern)))})
    if not found:
        shown = ", ".join(repr(os.fspath(pattern)) for pattern in patterns[:3])
        raise DataError(
            f"No file matches {shown}.",
            expected=f"files; the working folder is {os.getcwd()}.",
            type_next=list_parent(os.fspath(patterns[0])) if patterns else "!ls",
        )
    return found
