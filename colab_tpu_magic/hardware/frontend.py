"""Tell which notebook front end the code runs in, without importing any of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FRONTEND_TITLES = {
    "colab": "Google Colab",
    "kaggle": "Kaggle",
    "vscode": "VS Code",
    "nbclient": "a program that executes notebooks",
    "jupyter": "Jupyter",
    "ipython": "IPython in a terminal",
    "python": "plain Python",
}
"""Every front end that is told apart, and its name for people."""

# nbclient leaves no trace in its kernel but being the parent of it.
_EXECUTORS = ("papermill", "nbconvert", "jupyter-execute", "nbclient", "nbmake")


def find_frontend(root: Path, environ: Mapping[str, str], modules: Mapping[str, Any], shell: Any | None) -> str:
    """Return the key in `FRONTEND_TITLES` of the front end.

    Kaggle comes before Colab because its images are made from Colab's and carry their variables. Colab is
    told by ``google.colab`` among the loaded modules or by the class of the shell
    (``google.colab._shell.Shell``); it is never imported to find out.

    Args:
        root: Where ``/proc`` lies, for the command of the kernel's parent.
        environ: Environment variables.
        modules: Loaded modules, as ``sys.modules``.
        shell: The IPython shell, or None.
    """
    if environ.get("KAGGLE_KERNEL_RUN_TYPE"):
        return "kaggle"
    if "google.colab" in modules or type(shell).__module__.startswith("google.colab"):
        return "colab"
    if shell is None:
        return "colab" if environ.get("COLAB_RELEASE_TAG") else "python"
    if not _is_kernel(shell):
        return "ipython"
    if environ.get("COLAB_RELEASE_TAG"):
        return "colab"
    if "VSCODE_PID" in environ or "__vsc_ipynb_file__" in (getattr(shell, "user_ns", None) or {}):
        return "vscode"
    parent = command_of(root, os.getppid())
    return "nbclient" if any(name in parent for name in _EXECUTORS) else "jupyter"


def command_of(root: Path, pid: int) -> str:
    """Return the command line of a process, or an empty text when it cannot be read."""
    try:
        raw = (root / "proc" / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode("utf-8", "replace").strip()


def _is_kernel(shell: Any) -> bool:
    """Tell a kernel's shell from a terminal's: only the first has a ``kernel``."""
    return getattr(shell, "kernel", None) is not None or type(shell).__name__ == "ZMQInteractiveShell"
