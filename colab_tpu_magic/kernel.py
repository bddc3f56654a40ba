"""Restart the kernel from a cell."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError


def restart(shell: Any, then: str) -> None:
    """Restart the kernel: it ends, and the front end's kernel manager starts a new one.

    Args:
        shell: The InteractiveShell.
        then: What to type in the new kernel.

    Raises:
        UsageError: Where there is no kernel.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        raise UsageError(
            f"There is no kernel to restart here.\nType: exit, start IPython again, then %load_ext colab_tpu_magic and {then}"
        )
    print(f"The kernel restarts; all variables are gone.\nType: %load_ext colab_tpu_magic, then {then}")
    ended = kernel.do_shutdown(True)
    if hasattr(ended, "close"):
        ended.close()
    shell.exit_now = True
