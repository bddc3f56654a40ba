"""What the tests of the planner share: the compiler's Python, a watch over what its workers leave behind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from colab_tpu_magic.planner.compiler import Compiler, CompilerEnvironment, CompilerError, find_environment


def workers() -> set[int]:
    """Return the ids of the workers that this process started and that still run."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes()
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if b"planner/worker.py" in line and parent == os.getpid():
            found.add(int(entry.name))
    return found


def wait_until(true: Callable[[], object], seconds: float = 20.0) -> bool:
    """Return whether something came true within a time."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(scope="session")
def compiler_environment() -> CompilerEnvironment:
    """The Python that has the compiler; without one the tests that need it are skipped."""
    try:
        return find_environment()
    except CompilerError as missing:
        pytest.skip(str(missing).splitlines()[0])


@pytest.fixture(scope="module")
def compiler(compiler_environment: CompilerEnvironment) -> Iterator[Compiler]:
    """A compiler for the tests of one file, which keeps nothing on disk."""
    with Compiler(compiler_environment) as one:
        yield one
