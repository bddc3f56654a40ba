"""Import a package later, whoever does it, without what its C++ code writes to standard error meanwhile.

tensorflow 2.21 writes three lines before it reads TF_CPP_MIN_LOG_LEVEL, and Keras on JAX imports it
when it seeds (November 2026).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


@contextmanager
def quiet_standard_error() -> Iterator[None]:
    """Keep what is written to the standard error of this process out of the notebook."""
    try:
        kept = os.dup(2)
    except OSError:
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


class QuietImport(MetaPathFinder):
    """Find one package as everybody does, and run its first import in silence; then be gone.

    Args:
        name: The package.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec that the other finders give, its import made quiet."""
        if fullname != self.name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        run = loader.exec_module

        def run_quietly(module: ModuleType) -> None:
            with quiet_standard_error():
                run(module)

        loader.exec_module = run_quietly
        return spec


def import_quietly(name: str) -> None:
    """Make the first import of a package quiet, if it is still to come."""
    waiting = any(isinstance(finder, QuietImport) and finder.name == name for finder in sys.meta_path)
    if name not in sys.modules and not waiting:
        sys.meta_path.insert(0, QuietImport(name))
