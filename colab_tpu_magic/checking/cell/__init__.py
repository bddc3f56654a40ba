"""The traps that the text of a cell shows, one file each; found in its syntax tree, before anything runs."""

from __future__ import annotations

from ...rewrite.finding import Finding
from .backend_after_import import BackendAfterImport
from .base import CellText, CellTrap
from .batch_callbacks import BatchCallbacks
from .cluster_resolver import ClusterResolver
from .jit_under_strategy import JitUnderStrategy
from .missing_tensorflow import MissingTensorflow
from .old_file_names import OldFileNames
from .outside_scope import OutsideScope
from .python_images import PythonImages
from .swallowed_error import SwallowedError
from .tensorflow_1 import TensorFlow1
from .tpu_node import TpuNode

CELL_TRAPS: tuple[CellTrap, ...] = (
    MissingTensorflow(),
    TensorFlow1(),
    ClusterResolver(),
    TpuNode(),
    SwallowedError(),
    BackendAfterImport(),
    OutsideScope(),
    JitUnderStrategy(),
    OldFileNames(),
    PythonImages(),
    BatchCallbacks(),
)


def find_in_text(cell: CellText) -> list[Finding]:
    """Return what every look at a cell's text finds."""
    return [finding for trap in CELL_TRAPS for finding in trap.look(cell)]
