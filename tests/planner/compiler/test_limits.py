"""What compiling may take follows from what the machine has."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from colab_tpu_magic.planner.compiler import limits
from colab_tpu_magic.planner.compiler.limits import default_memory_bytes, parallel_compiles, resident_bytes

GIB = 2**30


@pytest.mark.parametrize(("free", "expected"), [(20 * GIB, 16 * GIB), (GIB // 2, GIB), (None, 8 * GIB)])
def test_a_compile_may_take_a_share_of_what_is_free(
    monkeypatch: pytest.MonkeyPatch, free: int | None, expected: int
) -> None:
    monkeypatch.setattr(limits, "available_bytes", lambda: free)
    assert default_memory_bytes() == expected


@pytest.mark.parametrize(
    ("cores", "free", "expected"), [(8, 40 * GIB, 8), (8, 8 * GIB, 2), (2, 100 * GIB, 2), (4, GIB, 1), (4, None, 4)]
)
def test_as_many_compiles_run_at_once_as_cores_and_memory_allow(
    monkeypatch: pytest.MonkeyPatch, cores: int, free: int | None, expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))
    monkeypatch.setattr(limits, "available_bytes", lambda: free)
    assert parallel_compiles() == expected


def test_the_memory_of_a_process_is_seen_to_grow() -> None:
    program = "import sys; held = bytearray(b'x' * (200 << 20)); print('held', flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as process:  # type: ignore[call-overload]
        process.stdout.readline()
        assert 200 << 20 < resident_bytes(process.pid) < 300 << 20
        process.stdin.close()
    assert resident_bytes(process.pid) == 0
