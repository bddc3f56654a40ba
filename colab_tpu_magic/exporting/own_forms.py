"""Refuse to write out data that this package itself reads: a plain script cannot call it."""

from __future__ import annotations

import ast

from ..errors import ExportError
from .cells import Cell

PACKAGE = "colab_tpu_magic"
INSTEAD = {
    "images": 'train = keras.utils.image_dataset_from_directory("folder", image_size=(224, 224), seed=0)',
    "tfrecords": "rows = tf.data.TFRecordDataset(files).map(parse).batch(32)",
}


def refuse_own_forms(cells: list[Cell], statements: list[ast.stmt]) -> None:
    """Raise ExportError when a statement reads its data with ``tpu.images`` or ``tpu.tfrecords``.

    Args:
        cells: All cells of the notebook, whose imports say under which names the package is known.
        statements: The statements that are kept.
    """
    packages: set[str] = set()
    functions: dict[str, str] = {}
    for cell in cells:
        for node in ast.walk(cell.tree):
            if isinstance(node, ast.Import):
                packages |= {one.asname or one.name for one in node.names if one.name == PACKAGE}
            elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
                functions |= {one.asname or one.name: one.name for one in node.names}
    for statement in statements:
        for node in ast.walk(statement):
            name = ""
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in packages:
                name = node.attr
            elif isinstance(node, ast.Name):
                name = functions.get(node.id, "")
            if name in INSTEAD:
                raise ExportError(
                    f"The data comes from tpu.{name}, which belongs to {PACKAGE}: a plain script cannot read it.",
                    expected="a reader of Keras or tf.data, trained once more and exported then.",
                    type_next=INSTEAD[name],
                )
