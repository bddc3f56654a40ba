"""The client stands whatever the process at the other end does: here a script plays the worker."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from colab_tpu_magic.planner.compiler import Cache, Compiled, Compiler, CompilerEnvironment, Refused
from colab_tpu_magic.planner.compiler.process import KEPT, clean_variables
from colab_tpu_magic.planner.targets import target
from colab_tpu_magic.planner.worker import Inbox, packed

from ..steps import Step

ONE = target("v5e-1")
STEP = Step(b"some bytes " * 100_000)
FIGURES = {"stage": "compiled", "argument": 1, "output": 2, "alias": 3, "temp": 4, "code": 5, "peak": 6}
FIGURES |= {"flops": 7.0, "seconds": 8.0}
TEXT = (
    "ENTRY %m (x: f32[8]) -> f32[8] {\n  %x = f32[8]{0} parameter(0)\n  ROOT %n = f32[8]{0} negate(%x),"
    ' backend_config={"estimated_cycles":"42"}\n}\n'
)


def played(folder: Path, *lines: str) -> CompilerEnvironment:
    """Return an environment whose worker is a script of a few lines of Python."""
    script = folder / "worker"
    head = f"#!{sys.executable}\nimport os, sys, json, signal, time\n"
    head += "def send(header, *blocks):\n"
    head += "    line = json.dumps({**header, 'blocks': [len(block) for block in blocks]}).encode() + b'\\n'\n"
    head += "    sys.stdout.buffer.write(line + b''.join(blocks)); sys.stdout.buffer.flush()\n"
    head += "def read():\n"
    head += "    header = json.loads(sys.stdin.buffer.readline())\n"
    head += "    return header, [sys.stdin.buffer.read(length) for length in header['blocks']]\n"
    head += f"here = {str(folder)!r}\nfigures = {FIGURES!r}\ntext = {TEXT!r}.encode()\n"
    script.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    script.chmod(0o755)
    return CompilerEnvironment(str(script), "0.10.2", "0.0.42.1", "a test")


def asked(environment: CompilerEnvironment, **limits: float) -> Compiled | Refused:
    with Compiler(environment) as compiler:
        return compiler.compile(STEP, ONE, seconds=limits.get("seconds", 20), memory_bytes=1 << 30)


def test_a_whole_answer_is_read(tmp_path: Path) -> None:
    environment = played(
        tmp_path,
        "header, blocks = read()",
        "assert header['topology'] == 'v5e:1x1' and header['arguments']['num_slices'] == 1, header",
        f"assert blocks == [{STEP.artifact[:11]!r} * 100_000]",
        "print('noise', file=sys.stderr)",
        "send(figures); send({'stage': 'done', 'error': ''}, text); time.sleep(60)",
    )
    answer = asked(environment)
    assert isinstance(answer, Compiled) and answer.cycles == 42
    assert (answer.memory.argument, answer.memory.peak, answer.flops, answer.seconds) == (1, 6, 7.0, 8.0)


def test_figures_stand_where_the_text_cannot_be_had(tmp_path: Path) -> None:
    answer = asked(played(tmp_path, "read(); send(figures); send({'stage': 'done', 'error': 'E: no text'}, b'')"))
    assert isinstance(answer, Compiled) and answer.as_text_failed and answer.text_error == "E: no text"
    assert answer.memory.peak == 6 and answer.costs == ()


def test_figures_stand_where_the_worker_dies_over_the_text(tmp_path: Path) -> None:
    answer = asked(played(tmp_path, "read(); send(figures); os.kill(os.getpid(), signal.SIGSEGV)"))
    assert isinstance(answer, Compiled) and answer.as_text_failed and "crashed" in answer.text_error


def test_figures_stand_where_the_text_has_a_form_that_is_not_known(tmp_path: Path) -> None:
    answer = asked(played(tmp_path, "read(); send(figures); send({'stage': 'done', 'error': ''}, b'oops')"))
    assert isinstance(answer, Compiled) and answer.as_text_failed and "'oops'" in answer.text_error


def test_one_crash_is_followed_by_another_try(tmp_path: Path) -> None:
    environment = played(
        tmp_path,
        "if not os.path.exists(here + '/once'): open(here + '/once', 'w'); os.abort()",
        "read(); send(figures); send({'stage': 'done', 'error': ''}, text)",
    )
    assert isinstance(asked(environment), Compiled)


def test_two_crashes_are_told_with_what_was_printed_last(tmp_path: Path) -> None:
    environment = played(
        tmp_path, "print('x' * 100_000, 'Check failed: a < b', sep='\\n', file=sys.stderr)", "os.abort()"
    )
    answer = asked(environment)
    assert isinstance(answer, Refused) and answer.kind == "crash"
    assert "SIGABRT" in answer.message and answer.message.endswith("Check failed: a < b")


def test_an_interpreter_that_is_not_there_is_no_compiler() -> None:
    answer = asked(CompilerEnvironment("/nowhere/python", "0.10.2", "0.0.42.1", "a test"))
    assert isinstance(answer, Refused) and answer.kind == "no-compiler" and "/nowhere/python" in answer.message


def test_a_pair_that_does_not_load_is_no_compiler(tmp_path: Path) -> None:
    environment = played(tmp_path, "send({'stage': 'failed', 'loading': True, 'error': 'ImportError: libtpu'})")
    answer = asked(environment)
    assert isinstance(answer, Refused) and answer.kind == "no-compiler" and "ImportError: libtpu" in answer.message


def test_what_is_no_message_is_a_crash(tmp_path: Path) -> None:
    answer = asked(played(tmp_path, "print('hello'); sys.stdout.flush(); time.sleep(60)"))
    assert isinstance(answer, Refused) and answer.kind == "crash"


def test_a_worker_that_reads_nothing_is_stopped_in_time(tmp_path: Path) -> None:
    begun = time.monotonic()
    answer = asked(played(tmp_path, "time.sleep(60)"), seconds=1)
    assert isinstance(answer, Refused) and answer.kind == "time" and time.monotonic() - begun < 3


def test_only_what_would_be_said_again_is_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "plans")
    with Compiler(played(tmp_path, "os.abort()"), cache) as compiler:
        assert isinstance(compiler.compile(STEP, ONE), Refused)
        assert compiler.cached(STEP, ONE) is None
    full = "RESOURCE_EXHAUSTED: memory required for HLO temporaries (20.00G) exceeds available HBM (15.75G)."
    with Compiler(played(tmp_path, f"read(); send({{'stage': 'failed', 'error': {full!r}}})"), cache) as compiler:
        answer = compiler.compile(STEP, ONE)
        assert compiler.cached(STEP, ONE) == answer and isinstance(answer, Refused) and answer.kind == "out-of-memory"


def test_a_closed_compiler_answers_no_more(tmp_path: Path) -> None:
    compiler = Compiler(played(tmp_path, "time.sleep(60)"))
    compiler.close()
    answer = compiler.compile(STEP, ONE)
    assert isinstance(answer, Refused) and answer.kind == "killed"


def test_messages_are_cut_wherever_the_stream_breaks() -> None:
    sent = [({"ask": "a"}, [b"12\n", b""]), ({"ask": "b"}, []), ({"ask": "c\n"}, [b"{" * 300])]
    stream = b"".join(packed(header, blocks) for header, blocks in sent)
    for size in (1, 7, len(stream)):
        inbox, whole = Inbox(), []
        for begin in range(0, len(stream), size):
            whole += inbox.feed(stream[begin : begin + size])
        assert whole == sent
    with pytest.raises(json.JSONDecodeError):
        Inbox().feed(b"no message\n")


def test_a_worker_gets_nothing_that_changes_what_it_compiles() -> None:
    variables = {
        "HOME": "/home/me",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "tpu",
        "JAX_COMPILATION_CACHE_DIR": "/c",
        "LIBTPU_INIT_ARGS": "--x",
        "TPU_LIBRARY_PATH": "/lib.so",
        "PYTHONPATH": "/mine",
        "PYTHONHOME": "/mine",
    }
    assert clean_variables(variables, keep_paths=False)["JAX_PLATFORMS"] == "cpu"
    clean = clean_variables(variables, keep_paths=True)
    assert clean["HOME"] == "/home/me" and clean["PYTHONPATH"] == "/mine" and clean["TPU_LOG_DIR"] == "disabled"
    assert not {"XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR", "LIBTPU_INIT_ARGS", "TPU_LIBRARY_PATH", "PYTHONHOME"} & set(
        clean
    )
    assert KEPT < 1 << 16
