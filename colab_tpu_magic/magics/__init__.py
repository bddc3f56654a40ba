"""All magics: the list of their classes, registering them with a shell, and their names."""

from __future__ import annotations

from typing import Any

from .base import MagicsBase
from .cell_errors import unwatch_cells, watch_cells
from .check import CheckMagics
from .export import ExportMagics
from .migrate import MigrateMagics
from .overview import OverviewMagics
from .plan import PlanMagics
from .training import TpuMagics

CLASSES: tuple[type[MagicsBase], ...] = (
    TpuMagics,
    CheckMagics,
    PlanMagics,
    ExportMagics,
    MigrateMagics,
    OverviewMagics,
)
# In the order in which a newcomer meets them; what is not named comes after, by name.
_FIRST = (
    "tpu_connect",
    "tpu_fit",
    "tpu_check",
    "tpu_plan",
    "tpu_panel",
    "tpu_runs",
    "tpu_export",
    "tpu_explain",
    "tpu_migrate",
    "tpu_status",
)


def names() -> list[str]:
    """Return the names of all magics, with their per cent signs."""
    bare = {name for cls in CLASSES for kind in ("line", "cell") for name in cls.magics[kind]}
    cells = {name for cls in CLASSES for name in cls.magics["cell"]}
    return [("%%" if name in cells else "%") + name for name in sorted(bare, key=_order)]


def class_of(name: str) -> type[MagicsBase]:
    """Return the class that has a magic, by its name with or without per cent signs.

    Raises:
        KeyError: When there is no such magic.
    """
    bare = name.lstrip("%")
    for cls in CLASSES:
        if bare in cls.magics["line"] or bare in cls.magics["cell"]:
            return cls
    raise KeyError(name)


def register(shell: Any) -> None:
    """Register the magics with a shell."""
    for cls in CLASSES:
        for name in {*cls.magics["line"], *cls.magics["cell"]}:
            parser = getattr(getattr(cls, name), "parser", None)
            if parser is not None:
                # A misspelt or shortened option must not pass for another one.
                parser.allow_abbrev = False
        shell.register_magics(cls)
    watch_cells(shell)


def unregister(shell: Any) -> None:
    """Take the magics out of a shell again."""
    unwatch_cells(shell)
    for cls in CLASSES:
        for kind in ("line", "cell"):
            for name in cls.magics[kind]:
                shell.magics_manager.magics[kind].pop(name, None)
        shell.magics_manager.registry.pop(cls.__name__, None)
    shell.configurables[:] = [one for one in shell.configurables if not isinstance(one, CLASSES)]


def _order(name: str) -> tuple[int, str]:
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)
