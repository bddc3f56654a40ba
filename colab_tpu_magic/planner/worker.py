"""Compile training steps for TPUs in a process of its own: requests on stdin, answers on stdout, nothing else.

This file is run by its path, with a Python that has the pinned pair of jax and libtpu and perhaps nothing of
ours, so it imports no other file of this package. A message is one line of JSON, which tells the lengths of
the blocks of bytes that follow it.

Private names of JAX that are used, tried on jax 0.10.2 with libtpu 0.0.42.1: ``jax._src.compiler``,
``jax._src.lib._jax``, ``jax._src.interpreters.mlir``.
"""

from __future__ import annotations

import json
import os
import queue
import select
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, BinaryIO

Message = tuple[dict[str, Any], list[bytes]]
"""A header and its blocks of bytes."""

# What libtpu and JAX must find before they are loaded: no TPU is looked for, no lock is taken, no log is written.
SETTINGS = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_LOG_DIR": "disabled",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TPU_MIN_LOG_LEVEL": "3",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}
IDLE_SECONDS = 120.0
"""A worker that is asked nothing for so long ends by itself."""
WATCH_SECONDS = 1.0
"""How often it looks whether the process that started it is still there."""


def main() -> None:
    """Answer requests until the input ends, the parent is gone, or nothing was asked for a while."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what a library prints is not an answer
    os.environ.update(SETTINGS)
    _be_the_first_to_go()
    requests: queue.Queue[Message] = queue.Queue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, os.getppid(), requests), daemon=True).start()
    try:
        versions = load()
    except Exception as error:  # whatever is wrong with this Python, the client says it
        _send(answers, {"stage": "failed", "loading": True, "error": f"{type(error).__name__}: {error}"})
        os._exit(1)
    _send(answers, {"stage": "ready", **versions})
    while True:
        try:
            request, blocks = requests.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            os._exit(0)
        _answer(answers, request, blocks)


def load() -> dict[str, str]:
    """Import JAX and load libtpu; return their versions."""
    from importlib.metadata import version

    import jax
    from jax.experimental import topologies

    found = {"jax": jax.__version__, "libtpu": version("libtpu")}
    topologies.get_topology_desc(platform="tpu", topology_name="v5e:1x1", chips_per_host_bounds=(1, 1, 1), num_slices=1)
    return found


def _answer(answers: BinaryIO, request: dict[str, Any], blocks: list[bytes]) -> None:
    try:
        devices = topology(request["topology"], request["arguments"])
        if request["ask"] == "devices":
            _send(answers, {"stage": "done", "devices": len(devices), "kind": devices[0].device_kind})
            return
        _send(answers, {"stage": "compiling"})
        begun = time.monotonic()
        executable = compile_module(blocks[0], devices)
        figures = {**memory_of(executable), "flops": flops_of(executable), "seconds": time.monotonic() - begun}
        # The figures go first: reading the compiled module has failed, for some models and versions of libtpu.
        _send(answers, {"stage": "compiled", **figures})
        try:
            text, error = executable.hlo_modules()[0].to_string(), ""
        except Exception as failed:
            text, error = "", f"{type(failed).__name__}: {failed}"
        _send(answers, {"stage": "done", "error": error}, [text.encode()])
    except Exception as error:
        _send(answers, {"stage": "failed", "error": f"{type(error).__name__}: {error}"})


def topology(name: str, arguments: dict[str, Any]) -> list[Any]:
    """Return the devices of a slice, none of which is there."""
    from jax.experimental import topologies

    given = {key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()}
    return list(topologies.get_topology_desc(platform="tpu", topology_name=name, **given).devices)


def compile_module(artifact: bytes, devices: list[Any]) -> Any:
    """Compile a portable StableHLO module for a slice.

    Raises:
        ValueError: When the module is for another number of devices.
        JaxRuntimeError: What the compiler says.
    """
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import _jax
    from jaxlib.mlir import ir

    with mlir.make_ir_context(), ir.Location.unknown():
        module = _jax.mlir.deserialize_portable_artifact(artifact)
        attributes = module.operation.attributes
        partitions = int(attributes["mhlo.num_partitions"]) if "mhlo.num_partitions" in attributes else 1
        if partitions != len(devices):
            raise ValueError(f"the module is for {partitions} devices, the slice has {len(devices)}")
        options = compiler.get_compile_options(
            num_replicas=1, num_partitions=partitions, device_assignment=np.array(devices).reshape(1, -1)
        )
        options.executable_build_options.use_spmd_partitioning = True
        options.executable_build_options.use_shardy_partitioner = _is_shardy(module)
        return devices[0].client.compile(
            module, executable_devices=_jax.DeviceList(tuple(devices)), compile_options=options
        )


def memory_of(executable: Any) -> dict[str, int]:
    """Return the bytes that one device needs, by what they are for."""
    stats = executable.get_compiled_memory_stats()
    return {
        "argument": stats.argument_size_in_bytes,
        "output": stats.output_size_in_bytes,
        "alias": stats.alias_size_in_bytes,
        "temp": stats.temp_size_in_bytes,
        "code": stats.generated_code_size_in_bytes,
        "peak": stats.peak_memory_in_bytes,
    }


def flops_of(executable: Any) -> float:
    """Return the compiler's count of operations, the bodies of loops once; 0 where it does not count."""
    analysis = executable.cost_analysis()
    found = analysis[0] if isinstance(analysis, (list, tuple)) else analysis
    return float((found or {}).get("flops", 0.0))


def _is_shardy(module: Any) -> bool:
    """Return whether shardings are written in Shardy's dialect rather than in GSPMD's strings."""
    if any(operation.operation.name.startswith("sdy.") for operation in module.body.operations):
        return True
    return "xla.sdy" in str(module.operation.attributes)


def _be_the_first_to_go() -> None:
    """Where memory runs out, have the system end this process and not the notebook's."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
            score.write("1000")
    except OSError:
        pass


class Inbox:
    """Cut a stream of bytes into messages.

    Example:
        >>> Inbox().feed(packed({"ask": "devices"}, [b"ab"]))
        [({'ask': 'devices'}, [b'ab'])]
    """

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._header: dict[str, Any] | None = None
        self._lengths: list[int] = []

    def feed(self, read: bytes) -> list[Message]:
        """Take what was read and return the messages that are whole now.

        Raises:
            ValueError: When the stream is not one of messages.
        """
        self._waiting += read
        whole: list[Message] = []
        while True:
            if self._header is None:
                end = self._waiting.find(b"\n")
                if end < 0:
                    return whole
                self._header = json.loads(self._waiting[:end])
                self._lengths = self._header.pop("blocks")
                del self._waiting[: end + 1]
            if len(self._waiting) < sum(self._lengths):
                return whole
            blocks, begin = [], 0
            for length in self._lengths:
                blocks.append(bytes(self._waiting[begin : begin + length]))
                begin += length
            del self._waiting[:begin]
            whole.append((self._header, blocks))
            self._header = None


def packed(header: dict[str, Any], blocks: Sequence[bytes] = ()) -> bytes:
    """Return a message as bytes: a line of JSON, then its blocks."""
    lengths = {"blocks": [len(block) for block in blocks]}
    return json.dumps({**header, **lengths}).encode() + b"\n" + b"".join(blocks)


def _listen(stream: BinaryIO, parent: int, requests: queue.Queue[Message]) -> None:
    """Put requests into the queue; end the process when the input ends or the parent is gone.

    The parent is looked for as well as the end of its pipe, for a process that it forked may hold the pipe.
    """
    inbox = Inbox()
    while True:
        ready, _, _ = select.select([stream], [], [], WATCH_SECONDS)
        if os.getppid() != parent:
            os._exit(0)
        if not ready:
            continue
        read = os.read(stream.fileno(), 1 << 20)
        if not read:
            os._exit(0)
        for message in inbox.feed(read):
            requests.put(message)


def _send(answers: BinaryIO, header: dict[str, Any], blocks: Sequence[bytes] = ()) -> None:
    view = memoryview(packed(header, blocks))
    while view:
        view = view[answers.write(view) :]


if __name__ == "__main__":
    main()
