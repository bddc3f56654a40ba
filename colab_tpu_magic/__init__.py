"""Train a Keras model on a TPU from a notebook cell, and see what was changed and why.

In a notebook::

    %load_ext colab_tpu_magic
    %tpu_connect
    %%tpu_fit
    model.fit(x_train, y_train, epochs=5)

In Python: `connect`, `fit`, `check`, `plan`, `panel`, `images`, `tfrecords`, `migrate`, `export`, `FitOptions`,
``runtime``, ``last_run`` and ``last_plan``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__
from .errors import ConnectError, DataError, ExportError, ModelError, OptionError, TpuMagicError
from .migration import migrate
from .options import ConnectOptions, FitOptions
from .session import check, connect, fit, panel

if TYPE_CHECKING:
    from .backends.base import Runtime
    from .exporting.api import export
    from .files.images import images
    from .files.tfrecords import tfrecords
    from .planner.plan import Plan
    from .planner.planning import plan
    from .training.run import Run

    runtime: Runtime | None
    last_run: Run | None
    last_plan: Plan | None
    runs: list[Run]

__all__ = [
    "ConnectError",
    "ConnectOptions",
    "DataError",
    "ExportError",
    "FitOptions",
    "ModelError",
    "OptionError",
    "TpuMagicError",
    "__version__",
    "check",
    "connect",
    "export",
    "fit",
    "images",
    "last_plan",
    "last_run",
    "load_ipython_extension",
    "migrate",
    "panel",
    "plan",
    "runs",
    "runtime",
    "tfrecords",
    "unload_ipython_extension",
]

# Loaded when they are first asked for.
_LATER = {
    "export": ".exporting.api",
    "images": ".files.images",
    "plan": ".planner.planning",
    "tfrecords": ".files.tfrecords",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        found = getattr(import_module(_LATER[name], __name__), name)
        globals()[name] = found
        return found
    from .session import session

    if name in ("runtime", "last_run", "last_plan", "runs"):
        return getattr(session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """Register the magics: what ``%load_ext colab_tpu_magic`` calls."""
    from .magics import register

    register(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take the magics away again: what ``%unload_ext colab_tpu_magic`` calls."""
    from .magics import unregister

    unregister(shell)
