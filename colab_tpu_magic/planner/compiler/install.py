"""Install the TPU compiler into an environment of its own, in the user's cache folder. Only when asked."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from .environment import (
    EXTRA_LINE,
    INSTALL_LINE,
    JAX,
    REQUIREMENT,
    CompilerEnvironment,
    CompilerError,
    check_platform,
    is_right,
    private_python,
    versions_of,
)

MB = 10**6
DOWNLOAD_BYTES = 360 * MB
"""What pip downloads: libtpu is 213 MB of it, jaxlib 85. Measured for Python 3.11, 2026-11."""
DISK_BYTES = 1_300 * MB
"""What the environment takes on disk: libtpu is 684 MB of it, jaxlib 349. Measured for Python 3.11, 2026-11."""
_MAKING = ".making-"


@dataclass(frozen=True)
class InstallCost:
    """What an installation takes, said before it begins.

    Attributes:
        folder: Where the environment will be.
        download_bytes: About what is downloaded.
        disk_bytes: About what it takes there.
        free_bytes: What is free there.
    """

    folder: Path
    download_bytes: int
    disk_bytes: int
    free_bytes: int

    @property
    def fits(self) -> bool:
        """Whether there is room, the downloaded files included."""
        return self.free_bytes > self.disk_bytes + self.download_bytes

    def __str__(self) -> str:
        return (
            f"The TPU compiler ({REQUIREMENT}, with libtpu under Google Cloud Platform's terms) is downloaded, about "
            f"{self.download_bytes // MB:,} MB, into {self.folder}, where it takes about {self.disk_bytes / 1e9:.1f} GB "
            f"of the {self.free_bytes / 1e9:,.1f} GB free. Nothing else is changed; deleting that folder removes it."
        )


def install_cost(folder: Path | None = None) -> InstallCost:
    """Return what an installation takes. Nothing is downloaded or written."""
    folder = folder or private_python().parent.parent
    there = next(parent for parent in folder.parents if parent.exists())
    return InstallCost(folder, DOWNLOAD_BYTES, DISK_BYTES, shutil.disk_usage(there).free)


def install(
    say: Callable[[str], None] = print, folder: Path | None = None, requirement: str = REQUIREMENT
) -> CompilerEnvironment:
    """Make the private environment, and return it. What is half made is removed again, also on an interrupt.

    Args:
        say: Told the size first, then each line of pip's.
        folder: Where to make it, by default the private environment's place.
        requirement: What pip installs.

    Raises:
        CompilerError: When there is no room, pip fails, or the machine is none for it.
    """
    check_platform()
    cost = install_cost(folder)
    if not cost.fits:
        raise CompilerError(
            "no-compiler",
            f"There is no room for the TPU compiler in {cost.folder.parent}.",
            expected=f"{(cost.disk_bytes + cost.download_bytes) / 1e9:.1f} GB free, {cost.free_bytes / 1e9:.1f} GB are."
            " XDG_CACHE_HOME may name another disk.",
            type_next=f"{INSTALL_LINE}   (after making room)",
        )
    say(str(cost))
    cost.folder.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=_MAKING, dir=cost.folder.parent))
    try:
        _make(making, requirement, say)
        pair = versions_of(making / "bin" / "python")
        if pair is None or not is_right(*pair):
            raise _failed(f"pip installed {f'jax {pair[0]} with libtpu {pair[1]}' if pair else 'no jax and libtpu'}")
        # Only what is whole gets the name that is looked for.
        shutil.rmtree(cost.folder, ignore_errors=True)
        os.replace(making, cost.folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    say("The TPU compiler is installed.")
    return CompilerEnvironment(str(cost.folder / "bin" / "python"), *pair, "the private environment")


def _make(folder: Path, requirement: str, say: Callable[[str], None]) -> None:
    python = str(folder / "bin" / "python")
    have_pip = find_spec("pip") is not None
    # Where this Python has pip, that one is used: ensurepip is missing in Debian's and Colab's.
    _run([sys.executable, "-m", "venv", *(["--without-pip"] if have_pip else []), str(folder)], say=lambda line: None)
    pip = [sys.executable, "-m", "pip", "--python", python] if have_pip else [python, "-m", "pip"]
    _run([*pip, "--disable-pip-version-check", "--no-input", "install", "--progress-bar", "off", requirement], say)


def _run(command: list[str], say: Callable[[str], None]) -> None:
    """Run a command and pass its lines on; an interrupt ends it and what it started."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables, start_new_session=True
    )
    assert process.stdout is not None
    last = ""
    try:
        for line in process.stdout:
            if line.strip():
                last = line.strip() if line.startswith("ERROR") or not last.startswith("ERROR") else last
                say(line.rstrip())
        code = process.wait()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        process.stdout.close()
    if code:
        raise _failed(last or f"{' '.join(command[:3])} ended with {code}")


def _failed(why: str) -> CompilerError:
    return CompilerError(
        "no-compiler",
        f"The TPU compiler was not installed: {why}",
        expected=f"a network or an index that has {REQUIREMENT} for Python {sys.version_info.major}.{sys.version_info.minor}.",
        type_next=f"{INSTALL_LINE}   (once more)\nor:   {EXTRA_LINE}   (into this Python, whose jax it changes to {JAX})",
    )
