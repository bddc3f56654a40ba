"""The worker is a program of its own: silent, and gone when nobody waits for it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from colab_tpu_magic.planner import worker
from colab_tpu_magic.planner.compiler import Compiler, CompilerEnvironment
from colab_tpu_magic.planner.compiler.process import Worker
from colab_tpu_magic.planner.worker import Inbox, Message, packed

from .conftest import wait_until, workers
from .steps import matmul

FILE = Path(worker.__file__)
# JAX and libtpu, played: what the worker does without them is the same.
PLAYED = {
    "jax/__init__.py": "__version__ = '0.10.2'\n",
    "jax/experimental/__init__.py": "",
    "jax/experimental/topologies.py": "class D: device_kind = 'TPU x'\n"
    "class T: devices = [D()]\n"
    "def get_topology_desc(platform, topology_name, **given):\n"
    "    print('a library prints'); assert all(not isinstance(value, list) for value in given.values())\n"
    "    if topology_name == 'bad': raise ValueError('no such topology')\n"
    "    return T\n",
    "libtpu-0.0.42.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: libtpu\nVersion: 0.0.42.1\n",
}


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A folder of modules that play JAX and libtpu."""
    for name, text in PLAYED.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def process(played: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A running worker on the played modules."""
    with started(played) as one:
        yield one
        one.kill()


def started(modules: Path, *head: str) -> subprocess.Popen[bytes]:
    """Start a worker that finds some modules before all others."""
    command = [sys.executable, "-P", str(FILE)]
    if head:
        program = f"import runpy, sys; sys.path.insert(0, {str(FILE.parent)!r}); import worker; {'; '.join(head)}; worker.main()"
        command = [sys.executable, "-c", program]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(modules)}, bufsize=0, **pipes)  # type: ignore[call-overload]


def answers(process: subprocess.Popen[bytes], number: int) -> list[Message]:
    """Return the next answers."""
    assert process.stdout is not None
    inbox, found = Inbox(), []
    while len(found) < number:
        read = os.read(process.stdout.fileno(), 1 << 16)
        assert read, process.stderr.read() if process.stderr else ""
        found += inbox.feed(read)
    return found


def test_it_imports_nothing_of_ours_and_no_framework_at_the_top() -> None:
    tree = ast.parse(FILE.read_text(encoding="utf-8"))
    top = [one for one in tree.body if isinstance(one, (ast.Import, ast.ImportFrom))]
    names = {part.name.split(".")[0] for one in top if isinstance(one, ast.Import) for part in one.names}
    names |= {(one.module or "").split(".")[0] for one in top if isinstance(one, ast.ImportFrom)}
    assert not [one for one in ast.walk(tree) if isinstance(one, ast.ImportFrom) and one.level]
    assert names <= sys.stdlib_module_names


def test_it_tells_its_versions_and_answers(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(packed({"ask": "devices", "topology": "good", "arguments": {"bounds": [1, 1, 1]}}))
    process.stdin.write(packed({"ask": "devices", "topology": "bad", "arguments": {}}))
    ready, good, bad = answers(process, 3)
    assert ready == ({"stage": "ready", "jax": "0.10.2", "libtpu": "0.0.42.1"}, [])
    assert good == ({"stage": "done", "devices": 1, "kind": "TPU x"}, [])
    assert bad == ({"stage": "failed", "error": "ValueError: no such topology"}, [])


def test_a_request_that_comes_in_pieces_is_put_together(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    answers(process, 1)
    for letter in packed({"ask": "devices", "topology": "good", "arguments": {}}, [b"\n{"]):
        process.stdin.write(bytes([letter]))
    assert answers(process, 1)[0][0]["stage"] == "done"


def test_it_ends_when_its_input_ends(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    answers(process, 1)
    process.stdin.close()
    assert process.wait(timeout=10) == 0


def test_it_ends_when_nothing_is_asked_for_long(played: Path) -> None:
    with started(played, "worker.IDLE_SECONDS = 0.3") as process:
        answers(process, 1)
        assert process.wait(timeout=10) == 0


def test_it_ends_when_its_parent_is_gone_though_a_fork_holds_the_pipe(played: Path, tmp_path: Path) -> None:
    """The client forks a child, as a data loader does, which keeps the pipe open; then the client is killed."""
    program = f"""
import os, subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-P", {str(FILE)!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
worker.stdout.readline()
if os.fork() == 0:
    os.close(1); time.sleep(30); os._exit(0)
print(worker.pid, flush=True)
time.sleep(30)
"""
    variables = {**os.environ, "PYTHONPATH": str(played)}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env=variables, start_new_session=True
    ) as client:
        assert client.stdout is not None
        pid = int(client.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        client.kill()
        client.wait()
        gone = wait_until(lambda: not _runs(pid), seconds=5)
        os.killpg(client.pid, 9)  # the fork
    assert gone


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_python_without_the_pair_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "jax.py").write_text("raise ImportError('no such thing as jax')\n", encoding="utf-8")
    with started(tmp_path) as process:
        header, _ = answers(process, 1)[0]
        assert header == {"stage": "failed", "loading": True, "error": "ImportError: no such thing as jax"}
        assert process.wait(timeout=10) == 1


@pytest.mark.compiler
def test_workers_end_with_the_object_that_started_them(compiler_environment: CompilerEnvironment) -> None:
    from colab_tpu_magic.planner.targets import target

    before = workers()
    compiler = Compiler(compiler_environment)
    compiler.compile(matmul(8, 128, 128), target("v5e-1"))
    assert workers() - before
    del compiler
    assert wait_until(lambda: not workers() - before, seconds=3)


def test_a_fork_of_the_client_leaves_its_workers_alone(tmp_path: Path) -> None:
    script = tmp_path / "worker"
    script.write_text("#!/bin/sh\nsleep 30\n", encoding="utf-8")
    script.chmod(0o755)
    one = Worker(CompilerEnvironment(str(script), "0.10.2", "0.0.42.1", "a test"))
    owner, one._owner = one._owner, -1  # as in a fork, whose id is another
    one.end()
    assert not wait_until(lambda: not one.alive, seconds=0.2)
    one._owner = owner
    one.kill()
    assert not one.alive
