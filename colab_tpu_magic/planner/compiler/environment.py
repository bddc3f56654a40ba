"""Find a Python on this machine that has the pair of jax and libtpu which the planner was made with."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ...errors import TpuMagicError

JAX = "0.10.2"
"""The version of jax that compiles."""
LIBTPU = "0.0.42"
"""The versions of libtpu that jax pins beside it: this, and this with a further number."""
LIBTPU_TRIED = "0.0.42.1"
"""The one that the figures of the package were made with."""
REQUIREMENT = f"jax[tpu]=={JAX}"
VARIABLE = "TPU_MAGIC_COMPILER_PYTHON"
"""Path of a Python to use instead of those that are looked for."""
EXTRA_LINE = "pip install 'colab-tpu-magic[compiler]'"
INSTALL_LINE = "%tpu_plan --install"

_ASK = "from importlib.metadata import version as v; print(v('jax'), v('libtpu'))"
ASK_SECONDS = 30


class CompilerError(TpuMagicError, RuntimeError):
    """The TPU compiler cannot be had on this machine.

    Args:
        kind: ``"platform"`` where it does not exist for this machine, else ``"no-compiler"``.
    """

    def __init__(self, kind: str, what: str, expected: str = "", type_next: str = "") -> None:
        self.kind = kind
        super().__init__(what, expected, type_next)


@dataclass(frozen=True)
class CompilerEnvironment:
    """A Python that can run the TPU compiler.

    Attributes:
        python: Path of its interpreter.
        jax: Version of jax there.
        libtpu: Version of libtpu there.
        origin: ``"this Python"``, ``"the private environment"``, or the variable's name.
    """

    python: str
    jax: str
    libtpu: str
    origin: str


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of this package in the user's cache; it may not be there yet.

    It is ``$XDG_CACHE_HOME/colab-tpu-magic``, and ``~/.cache/colab-tpu-magic`` where that is not an absolute path.
    """
    base = Path(environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "colab-tpu-magic"


def private_python(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the interpreter of the private environment, whether it is there or not."""
    name = f"compiler-jax{JAX}-py{sys.version_info.major}.{sys.version_info.minor}"
    return cache_folder(environ) / name / "bin" / "python"


def check_platform(system: str = sys.platform, machine: str = "") -> None:
    """Refuse a machine that libtpu does not exist for.

    Raises:
        CompilerError: When it is not Linux on x86-64.
    """
    machine = machine or platform.machine()
    if system != "linux" or machine.lower() not in ("x86_64", "amd64"):
        raise CompilerError(
            "platform",
            f"The TPU compiler does not exist for this machine ({system}, {machine}).",
            expected="Linux on x86-64, such as Colab, Kaggle, WSL or a container.",
        )


def find_environment(environ: Mapping[str, str] = os.environ) -> CompilerEnvironment:
    """Return the first Python with the right pair: the variable's, this one, the private one.

    Raises:
        CompilerError: When there is none, or the machine is none for it.
    """
    check_platform()
    named = environ.get(VARIABLE, "")
    if named:
        return _named(named)
    wrong: list[str] = []
    for python, origin in ((Path(sys.executable), "this Python"), (private_python(environ), "the private environment")):
        pair = versions_of(python) if python.exists() else None
        if pair is None:
            continue
        if is_right(*pair):
            return CompilerEnvironment(str(python), *pair, origin)
        wrong.append(f"{origin} has jax {pair[0]} with libtpu {pair[1]}")
    found = f": {', '.join(wrong)}" if wrong else ""
    raise CompilerError("no-compiler", f"The TPU compiler is not installed{found}.", _EXPECTED, _TYPE)


def versions_of(python: Path) -> tuple[str, str] | None:
    """Return the versions of jax and libtpu that a Python has, None when it lacks one or does not run."""
    if str(python) == sys.executable:
        try:
            return version("jax"), version("libtpu")
        except PackageNotFoundError:
            return None
    try:
        asked = subprocess.run(
            [str(python), "-I", "-c", _ASK], capture_output=True, text=True, timeout=ASK_SECONDS, check=True
        )
        jax, libtpu = asked.stdout.split()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return jax, libtpu


def is_right(jax: str, libtpu: str) -> bool:
    """Return whether these are the pair that jax pins; other pairs have failed or crashed.

    Example:
        >>> is_right("0.10.2", "0.0.42.1"), is_right("0.7.2", "0.0.21.1")
        (True, False)
    """
    return jax == JAX and (libtpu == LIBTPU or libtpu.startswith(LIBTPU + "."))


_EXPECTED = f"jax {JAX} with libtpu {LIBTPU} in this Python, or in an environment of their own."
_TYPE = (
    f"{INSTALL_LINE}   (an environment of its own in the user's cache folder; says its size first)\n"
    f"or:   {EXTRA_LINE}   (into this Python, whose jax it changes to {JAX})"
)


def _named(named: str) -> CompilerEnvironment:
    pair = versions_of(Path(named))
    if pair is not None and is_right(*pair):
        return CompilerEnvironment(named, *pair, VARIABLE)
    has = f"has jax {pair[0]} with libtpu {pair[1]}" if pair else "does not run or has no jax and libtpu"
    raise CompilerError(
        "no-compiler",
        f"The Python that {VARIABLE} names, {named}, {has}.",
        f"jax {JAX} with libtpu {LIBTPU} there, or no such variable.",
        f"{Path(named).name} -m pip install '{REQUIREMENT}'   (with that Python)",
    )
