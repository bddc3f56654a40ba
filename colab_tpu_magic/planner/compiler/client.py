"""Ask the TPU compiler what it makes of a step, and get one answer whatever happens."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from ..cycles import StepCosts, step_costs
from ..hlo_text import HloTextError
from ..results import Compiled, Memory, Refused
from ..targets import Target
from ..worker import Message
from .cache import Cache, key_of
from .environment import LIBTPU_TRIED, CompilerEnvironment, CompilerError, find_environment
from .limits import SECONDS, default_memory_bytes
from .process import TimeIsUp, TooMuchMemory, Worker, WorkerDied
from .refusals import cannot_load, from_death, from_limit, from_words

KEPT_RESIDENT = 1 << 30
"""A worker that has more memory than this after an answer is ended: it gives little back."""
KEPT_WORKERS = 2
"""Idle workers that are kept; a start takes about a second."""


class Step(Protocol):
    """What is compiled: a `Lowered` step."""

    @property
    def artifact(self) -> bytes:
        """Its portable StableHLO."""

    @property
    def devices(self) -> int:
        """Devices that it is divided over."""

    def digest(self) -> str:
        """Return what tells it from every other step."""


class Compiler:
    """The TPU compiler, in worker processes that start when they are needed.

    Several threads may ask at once; each has a worker of its own. Use it in a ``with`` statement, or close it;
    workers end with the object and with the process at the latest.

    Args:
        environment: The Python to compile with; looked for when the first question is not in the cache.
        cache: Where answers are kept; None keeps none.

    Example:
        >>> with Compiler() as compiler:                                # doctest: +SKIP
        ...     answer = compiler.compile(lowered, target("v5e-1"), seconds=60)
        ...     print(answer.memory.peak if isinstance(answer, Compiled) else answer.message)
    """

    def __init__(self, environment: CompilerEnvironment | None = None, cache: Cache | None = None) -> None:
        self._environment = environment
        self._cache = cache
        self._libtpu = ""
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._at_end = weakref.finalize(self, _kill_all, self._idle, self._busy)

    def __enter__(self) -> Compiler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def environment(self) -> CompilerEnvironment:
        """The Python to compile with.

        Raises:
            CompilerError: When there is none.
        """
        if self._environment is None:
            self._environment = find_environment()
        return self._environment

    def close(self) -> None:
        """End all workers, those that another thread waits for too; its answer is then ``"killed"``."""
        with self._lock:
            self._closed = True
            _kill_all(self._idle, self._busy)

    def cached(self, lowered: Step, target: Target) -> Compiled | Refused | None:
        """Return the answer if it is known already, without starting anything; else None."""
        return self._cache.get(self._key(lowered, target)) if self._cache else None

    def compile(
        self,
        lowered: Step,
        target: Target,
        *,
        seconds: float = SECONDS,
        memory_bytes: int | None = None,
        stage: Callable[[str], None] = lambda name: None,
    ) -> Compiled | Refused:
        """Return what the compiler makes of a step on a slice.

        A worker that dies is followed by another, once. An interrupt ends the worker and goes on as it came.

        Args:
            lowered: The step.
            target: The slice; it must have as many devices as the step was lowered for.
            seconds: Time that it may take in all.
            memory_bytes: Memory that a worker may have; by default a share of what is free.
            stage: Told ``"starting"``, ``"compiling"``, ``"reading"`` as they begin.

        Raises:
            ValueError: When the step was lowered for another number of devices.
        """
        if lowered.devices != target.devices:
            raise ValueError(f"The step is for {lowered.devices} devices, {target.name} has {target.devices}.")
        known = self.cached(lowered, target)
        if known is not None:
            return known
        memory_bytes = memory_bytes or default_memory_bytes()
        try:
            answer = self._ask_twice(lowered, target, time.monotonic() + seconds, memory_bytes, stage)
        except CompilerError as missing:
            return Refused(missing.kind, str(missing))
        except OSError as error:
            return cannot_load(str(error), self.environment.python)
        except (TimeIsUp, TooMuchMemory) as over:
            return from_limit(over, seconds, memory_bytes)
        except WorkerDied as died:
            return from_death(died)
        if self._cache and (isinstance(answer, Compiled) or answer.lasting):
            self._cache.put(self._key(lowered, target), answer)
        return answer

    def _ask_twice(
        self, lowered: Step, target: Target, deadline: float, memory_bytes: int, stage: Callable[[str], None]
    ) -> Compiled | Refused:
        request = {"ask": "compile", "topology": target.topology, "arguments": dict(target.topology_arguments)}
        for attempt in (1, 2):
            worker = self._worker()
            used_before = worker.answered > 0
            heard = _Heard(stage, starting=not used_before)
            try:
                last, blocks = worker.ask(
                    request, [lowered.artifact], deadline=deadline, memory_bytes=memory_bytes, heard=heard
                )
            except WorkerDied:
                if heard.figures:  # it compiled, and died over the text: the figures stand
                    return _compiled(heard, b"", "the compiler crashed while it wrote its text", worker.environment)
                if attempt == 2 or self._closed:
                    raise
                continue
            except TooMuchMemory:
                # What an earlier answer left in a worker is not this step's.
                if attempt == 2 or not used_before:
                    raise
                continue
            finally:
                self._put_back(worker)
            if last["stage"] == "failed":
                if last.get("loading"):
                    return cannot_load(last["error"], worker.environment.python)
                return from_words(last["error"])
            stage("reading")
            return _compiled(heard, blocks[0], last["error"], worker.environment)
        raise AssertionError("unreachable")

    def _worker(self) -> Worker:
        environment = self.environment
        with self._lock:
            if self._closed:
                raise WorkerDied(-9, "")
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    break
                worker.kill()
            else:
                worker = Worker(environment)
            self._busy.add(worker)
        return worker

    def _put_back(self, worker: Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
            keep = worker.alive and not self._closed and len(self._idle) < KEPT_WORKERS
            if keep and worker.resident <= KEPT_RESIDENT:
                self._idle.append(worker)
                return
        worker.kill()

    def _key(self, lowered: Step, target: Target) -> str:
        if not self._libtpu:
            try:
                self._libtpu = self.environment.libtpu
            except CompilerError:
                self._libtpu = LIBTPU_TRIED  # what is known can be told without a compiler
        return key_of(lowered.digest(), target.topology, target.topology_arguments, self._libtpu)


class _Heard:
    """Pass stages on, and keep the figures that come before the text."""

    def __init__(self, stage: Callable[[str], None], starting: bool) -> None:
        self.figures: dict[str, Any] = {}
        self._stage = stage
        if starting:
            stage("starting")

    def __call__(self, message: Message) -> None:
        header = message[0]
        if header["stage"] == "compiling":
            self._stage("compiling")
        elif header["stage"] == "compiled":
            self.figures = header


def _compiled(heard: _Heard, text: bytes, error: str, environment: CompilerEnvironment) -> Compiled:
    figures = heard.figures
    found = StepCosts((), (), ())
    if text and not error:
        try:
            found = step_costs(text.decode(errors="replace"))
        except HloTextError as unread:
            error = unread.what
    return Compiled(
        memory=Memory(**{name: figures[name] for name in Memory.__dataclass_fields__}),
        flops=figures["flops"],
        costs=found.costs,
        unestimated=found.unestimated,
        as_text_failed=bool(error),
        text_error=error,
        libtpu=environment.libtpu,
        jax=environment.jax,
        seconds=figures["seconds"],
        notes=found.notes,
    )


def _kill_all(idle: list[Worker], busy: set[Worker]) -> None:
    for worker in idle:
        worker.kill()
    idle.clear()
    for worker in busy:  # the thread that waits for it closes what it reads from
        worker.end()
