"""Compile what the searches ask for, as many at once as the machine allows, and tell of each answer as it comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import DataError, ModelError
from .asked import refusal_of
from .compiler import Compiled, Compiler, CompilerError, Refused
from .compiler.limits import SECONDS, default_memory_bytes, parallel_compiles
from .heads import Head, renamed
from .plan import Progress
from .row import PENDING, REFUSED, Row
from .rows import row_of
from .search import CurveSearch, Pace
from .steps import Case, Steps
from .targets import Target

FREE_SECONDS = 120.0
"""Seconds of compiling that a plan takes without having been told to go on."""
LOOK_SECONDS = 0.5
"""How often somebody is told how the time goes by."""
ENDING = ("no-compiler", "platform")
"""Refusals that every other step would get too."""


@dataclass
class Searched:
    """One target and precision that is searched."""

    target: Target
    precision: str
    search: CurveSearch


@dataclass
class Sweep:
    """The rows of a plan in the making.

    Args:
        steps: The model's steps.
        compiler: The compiler.
        yes: Whether it may take longer than two minutes.
        seconds: Time that one compile may take.
        memory_bytes: Memory that one compile may take, or None for a share of what is free.
        progress: Told of each row, and of the time.

    Attributes:
        rows: By target, precision and batch size.
        pace: How long compiles take.
        left_out: Seconds that what was not compiled for want of `yes` is expected to take.
        interrupted: Whether an interrupt ended it.
        errors: What steps could not be lowered for, or the compiler was not to be had for.
        missing: The compiler's refusal that every other step would get too, once there is one.
        versions: Of jax and libtpu, once something is known.
        begun: When the plan began, on the monotonic clock.
        compiling: Seconds in which something was compiled.
    """

    steps: Steps
    compiler: Compiler
    yes: bool = False
    seconds: float = SECONDS
    memory_bytes: int | None = None
    progress: Callable[[Progress], Any] = lambda progress: None
    rows: dict[tuple[str, str, int], Row] = field(default_factory=dict)
    pace: Pace = Pace()
    left_out: float = 0.0
    interrupted: bool = False
    errors: list[Exception] = field(default_factory=list)
    missing: Refused | None = None
    versions: str = ""
    begun: float = field(default_factory=time.monotonic)
    compiling: float = 0.0

    def run(self, curves: Sequence[Searched]) -> None:
        """Search every curve to its end, or to the end of the time; an interrupt ends it with the rows so far."""
        workers = parallel_compiles()
        pool = ThreadPoolExecutor(workers, thread_name_prefix="tpu-plan")
        running: dict[Future[Any], tuple[Searched, Case, Head]] = {}
        try:
            while True:
                begun = time.monotonic()
                while len(running) < workers and (job := self._next(curves, running)) is not None:
                    curve, case, lowered = job
                    running[pool.submit(self._compile, case, lowered, workers)] = job
                if not running:
                    return
                self._tell(curves, running)
                done, _ = wait(running, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
                self.compiling += time.monotonic() - begun
                for future in done:
                    curve, case, lowered = running.pop(future)
                    self._take(curve, case, lowered, future.result(), cached=False)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            if running:
                self.compiler.close()
            pool.shutdown(wait=True, cancel_futures=True)
            for curve, case, _ in running.values():
                self.rows.pop(_key(curve, case), None)

    def one(self, case: Case, steps: Steps | None = None, doing: str = "") -> Row | None:
        """Return the row of one more case; None where it would take too long, is refused, or was interrupted.

        Args:
            case: What to compile.
            steps: Those of another model than the plan's own.
            doing: What it is for, for the progress.
        """
        curve = Searched(case.target, case.precision, CurveSearch([case.batch_size], to_the_largest=False))
        own = Sweep(
            steps or self.steps,
            self.compiler,
            self.yes,
            self.seconds,
            self.memory_bytes,
            lambda now: self._pass_on(now, doing),
            pace=self.pace,
            compiling=self.compiling,
        )
        own.run([curve])
        self.pace, self.compiling, self.left_out = own.pace, own.compiling, self.left_out + own.left_out
        self.interrupted = self.interrupted or own.interrupted
        row = own.rows.get(_key(curve, case))
        return row if row is not None and row.fits else None

    def ordered(self, curves: Iterable[Searched]) -> tuple[Row, ...]:
        """Return the rows by target and precision as they were asked for, then by batch size."""
        places = {(curve.target.name, curve.precision): place for place, curve in enumerate(curves)}
        return tuple(sorted(self.rows.values(), key=lambda row: (places[row.target, row.precision], row.batch_size)))

    def _next(self, curves: Sequence[Searched], running: dict[Any, Any]) -> tuple[Searched, Case, Head] | None:
        """Return the next step that must be compiled; what is known already is taken on the way."""
        for curve in curves:
            while (size := curve.search.next()) is not None:
                case = Case(curve.target, size, curve.precision)
                if self.missing is not None and self.steps.known(case) is None:
                    row = Row(case.target.name, size, case.precision, REFUSED, self.missing.message)
                    self._put(curve, case, replace(row, devices=case.target.devices))
                    continue
                try:
                    lowered, answer = self._known(case)
                    if answer is None and not lowered.artifact:
                        self.progress(self._progress(curves, f"reading the step for {case.text}", ""))
                        lowered = self.steps.lowered(case)
                except (DataError, ModelError) as error:
                    self.errors.append(error)
                    reason, devices = refusal_of(error), case.target.devices
                    row = Row(case.target.name, size, case.precision, REFUSED, reason, devices)
                    self.rows[_key(curve, case)] = row
                    curve.search.skip(size)
                    continue
                if answer is not None:
                    self._take(curve, case, lowered, answer, cached=True)
                    continue
                if not self._affordable(curve, lowered, curves):
                    curve.search.asked.remove(size)
                    curve.search.stop()
                    break
                row = Row(case.target.name, size, case.precision, PENDING, devices=case.target.devices)
                self.rows[_key(curve, case)] = replace(row, allowed_bytes=case.target.hbm_bytes)
                return curve, case, lowered
        return None

    def _known(self, case: Case) -> tuple[Head, Compiled | Refused | None]:
        head = self.steps.known(case)
        lowered = head if head is not None else self.steps.lowered(case)
        return lowered, self.compiler.cached(lowered, case.target)

    def _affordable(self, curve: Searched, lowered: Head, curves: Sequence[Searched]) -> bool:
        """Return whether a compile may begin; where not, note what all that is left would take."""
        each = self.pace.each(len(lowered.artifact))
        if self.yes or self.compiling + each <= FREE_SECONDS:
            return True
        self.left_out += each * (1 + max(0, curve.search.remaining - 1))
        return False

    def _compile(self, case: Case, lowered: Head, workers: int) -> Compiled | Refused:
        memory = self.memory_bytes or default_memory_bytes() // workers
        return self.compiler.compile(lowered, case.target, seconds=self.seconds, memory_bytes=memory)

    def _take(self, curve: Searched, case: Case, lowered: Head, answer: Compiled | Refused, cached: bool) -> None:
        if isinstance(answer, Compiled):
            self.versions = f"jax {answer.jax}, libtpu {answer.libtpu}"
        # What is known may have been compiled of the same model under other names.
        named = self.steps.named_at(lowered, case.target, cached)
        row = row_of(named, answer, case.target, cached)
        row = replace(row, layers=renamed(row.layers, named, self.steps.witness))
        probe = case.batch_size not in curve.search.sizes
        row = replace(row, batch_size=case.batch_size, precision=case.precision, probe=probe)
        self.pace = self.pace.but(row)
        self._put(curve, case, row)
        if isinstance(answer, Refused) and answer.kind in ENDING:
            self.missing = answer
            self.errors.append(CompilerError(answer.kind, answer.message))

    def _put(self, curve: Searched, case: Case, row: Row) -> None:
        self.rows[_key(curve, case)] = row
        curve.search.tell(row)

    def _tell(self, curves: Sequence[Searched], running: dict[Any, tuple[Searched, Case, Head]]) -> None:
        cases = [case for _, case, _ in running.values()]
        waiting = next((curve for curve in curves if not curve.search.done), None)
        left = waiting.search.remaining if waiting else 0
        coming = f"{waiting.target.name}: {left} more" if waiting and left else ""
        self.progress(self._progress(curves, "compiling " + "; ".join(case.text for case in cases), coming))

    def _progress(self, curves: Sequence[Searched], stage: str, coming: str) -> Progress:
        left = sum(curve.search.remaining for curve in curves) + sum(
            row.status == PENDING for row in self.rows.values()
        )
        remaining = left * self.pace.each() / parallel_compiles() if self.pace.seconds else None
        return Progress(stage, time.monotonic() - self.begun, remaining, coming, self.ordered(curves))

    def _pass_on(self, now: Progress, doing: str) -> None:
        rows = tuple(row for row in self.rows.values() if row.status != PENDING)
        elapsed = time.monotonic() - self.begun
        self.progress(replace(now, stage=f"{doing}: {now.stage}" if doing else now.stage, rows=rows, elapsed=elapsed))


def _key(curve: Searched, case: Case) -> tuple[str, str, int]:
    return curve.target.name, curve.precision, case.batch_size
