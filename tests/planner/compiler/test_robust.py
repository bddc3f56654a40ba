"""A worker that is killed, too slow, too large or interrupted ends without a trace, and one answer comes back."""

from __future__ import annotations

import _thread
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from colab_tpu_magic.planner.compiler import Compiled, Compiler, CompilerEnvironment, Refused
from colab_tpu_magic.planner.targets import target

from ..conftest import wait_until, workers
from ..steps import Step, matmul, slow

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("nothing_is_left")]
ONE = target("v5e-1")


@pytest.fixture(scope="module")
def slow_step() -> Step:
    """A step that is compiled for longer than any test here waits."""
    return slow()


def in_mid_compile(act: Callable[[int], None], times: int = 1) -> threading.Thread:
    """Have something done to the worker, in another thread, a moment after it began to compile."""

    def wait_and_act() -> None:
        seen: set[int] = set()
        while len(seen) < times and wait_until(lambda: not compiling() <= seen):
            for pid in compiling() - seen:
                act(pid)
                seen.add(pid)

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


def compiling() -> set[int]:
    """Return the workers that have loaded and compile: nothing before takes that much processor time."""
    return {pid for pid in workers() if 1.5 < busy_seconds(pid) < 1e9}


def busy_seconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 1e9
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_worker_that_is_killed_is_followed_by_another(
    compiler_environment: CompilerEnvironment, slow_step: Step
) -> None:
    """The second worker lives until the time is over, so the answer is that of the time, not of the kill."""
    with Compiler(compiler_environment) as compiler:
        thread = in_mid_compile(lambda pid: os.kill(pid, signal.SIGKILL))
        answer = compiler.compile(slow_step, ONE, seconds=5)
        thread.join()
    assert isinstance(answer, Refused) and answer.kind == "time"
    assert not workers()


def test_killed_twice_is_said(compiler_environment: CompilerEnvironment, slow_step: Step) -> None:
    with Compiler(compiler_environment) as compiler:
        thread = in_mid_compile(lambda pid: os.kill(pid, signal.SIGKILL), times=2)
        answer = compiler.compile(slow_step, ONE)
        thread.join()
    assert isinstance(answer, Refused) and answer.kind == "killed" and "killed from outside, twice" in answer.message
    assert not workers()


def test_a_time_limit_holds(compiler_environment: CompilerEnvironment, slow_step: Step) -> None:
    with Compiler(compiler_environment) as compiler:
        begun = time.monotonic()
        answer = compiler.compile(slow_step, ONE, seconds=2)
        assert isinstance(answer, Refused) and answer.kind == "time" and "2 s" in answer.message
        assert time.monotonic() - begun < 4 and not workers()
        assert isinstance(compiler.compile(matmul(), ONE), Compiled)  # the next one is not harmed


def test_a_memory_limit_holds(compiler_environment: CompilerEnvironment) -> None:
    with Compiler(compiler_environment) as compiler:
        answer = compiler.compile(matmul(), ONE, memory_bytes=200 << 20)
    assert isinstance(answer, Refused) and answer.kind == "memory" and "the 0.195 GiB" in answer.message
    assert answer.needed_bytes > answer.allowed_bytes == 200 << 20
    assert not workers()


def test_an_interrupt_goes_through_and_ends_the_worker(
    compiler_environment: CompilerEnvironment, slow_step: Step
) -> None:
    with Compiler(compiler_environment) as compiler:
        thread = in_mid_compile(lambda pid: _thread.interrupt_main())
        with pytest.raises(KeyboardInterrupt):
            compiler.compile(slow_step, ONE)
        thread.join()
        assert not workers()


def test_no_worker_outlives_its_client(
    slow_step: Step, tmp_path: Path, compiler_environment: CompilerEnvironment
) -> None:
    artifact = tmp_path / "step"
    artifact.write_bytes(slow_step.artifact)
    program = f"""
import sys; sys.path.insert(0, {os.getcwd()!r})
from pathlib import Path
from colab_tpu_magic.planner.compiler import Compiler, CompilerEnvironment
from colab_tpu_magic.planner.module import Lowered
from colab_tpu_magic.planner.targets import target
step = Lowered(Path({str(artifact)!r}).read_bytes(), 1, (), (), 0.0)
compiler = Compiler({compiler_environment!r})
compiler.compile(step, target("v5e-1"), stage=lambda name: print(name, next(iter(compiler._busy)).pid, flush=True))
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        pid = next(int(line.split()[1]) for line in client.stdout if line.startswith("compiling"))
        assert wait_until(lambda: busy_seconds(pid) > 1.2)
        client.kill()
    assert wait_until(lambda: not Path(f"/proc/{pid}").exists(), seconds=5)
