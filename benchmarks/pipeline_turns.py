"""The processes of `pipeline`: one for each way, which works in its turn and is stopped while others have theirs.

In one process they were not alone: the threads in which tf.data and grain read ahead went on filling growing buffers in
the turns of the others (TensorFlow 2.21, December 2026: the memory limit took six times as long from the sixth round on), and
one that sets malloc's thresholds for the process set them for all.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .report import ROOT


class Turns:
    """One way in its process.

    Args:
        backend: One of `pipeline.BACKENDS`.
        way: Its name among `pipelines.ways`.
    """

    def __init__(self, backend: str, way: str) -> None:
        keras_backend = backend.split("-")[0]
        environment = os.environ | {"KERAS_BACKEND": keras_backend, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
        self.name = f"{way} on {backend}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.pipeline", "--inside", way, "--only", backend],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def turn(self, kind: str, seconds: float) -> tuple[float, float]:
        """Let it run.

        Args:
            kind: Name of the data, a key of `pipelines.data_kinds`; what was made of another is dropped.
            seconds: How long; 0 to learn how many batches it holds instead.

        Returns:
            Rows a second and CPU time in µs a row; or batches held and 0.

        Raises:
            RuntimeError: When the process has ended.
        """
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        self.process.send_signal(signal.SIGCONT)
        print(json.dumps([kind, seconds]), file=stdin, flush=True)
        line = stdout.readline()
        if not line:
            raise RuntimeError(f"The process of {self.name} ended: {self.process.wait()}.")
        self.process.send_signal(signal.SIGSTOP)
        rate, worked = json.loads(line)
        return rate, worked

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


@contextmanager
def running_ways(backend: str, names: Iterable[str]) -> Iterator[dict[str, Turns]]:
    """Start a process for each way of a backend, and end them."""
    running = {name: Turns(backend, name) for name in names}
    try:
        yield running
    finally:
        for way in running.values():
            way.close()


def serve(way: str, malloc_of_replicas: bool) -> None:
    """Take turns as `Turns.turn` asks for them, until the input ends."""
    import keras

    from .pipelines import data_kinds, held_batches, ways

    if malloc_of_replicas:
        _set_malloc()
    made: dict[str, Iterator[int]] = {}
    data: dict[str, Any] = {}
    for line in sys.stdin:
        kind, seconds = json.loads(line)
        if kind not in made:
            made.clear()
            data = {kind: data_kinds()[kind]}
            made[kind] = ways(keras.backend.backend())[way](*data[kind])
        if seconds:
            said = rows_per_second(made[kind], seconds)
        else:
            said = (held_batches(keras.backend.backend(), *data[kind]), 0.0)
        print(json.dumps(said), flush=True)
    os._exit(0)  # threads of tf.data may still run, and do not like an interpreter that ends


def _set_malloc() -> None:
    """Have TensorFlow set ``M_TRIM_THRESHOLD``, as the first batch of a distributed dataset does (tensorflow 2.21)."""
    import tensorflow as tf

    spec = tf.TensorSpec((), tf.int32)
    next(iter(tf.data.Dataset.from_generator(lambda: iter([1]), output_signature=spec)))


def rows_per_second(batches: Iterator[int], seconds: float, skip: int = 6) -> tuple[float, float]:
    """Return how many rows a second come out of an iterator that is resumed, and their CPU time in µs a row.

    Args:
        batches: Yields the number of rows of each batch.
        seconds: How long to take batches.
        skip: Batches that may have been made while others had their turn.
    """
    for _ in range(skip):
        next(batches)
    rows, began, worked = 0, time.perf_counter(), time.process_time()
    while (passed := time.perf_counter() - began) < seconds or not rows:
        rows += next(batches)
    return rows / passed, 1e6 * (time.process_time() - worked) / rows
