"""Plan a training: ask the TPU compiler whether it fits, how fast it is, and which batch size is best."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from ..errors import ModelError
from ..options import FitOptions
from ..rewrite.rules.batch_size import MIN_STEPS_PER_EPOCH, TILE_ROWS
from .advice import advice
from .asked import Asked, read
from .compiler import Cache, Compiler
from .compiler.limits import SECONDS
from .heads import Heads
from .host import host_rate
from .lower.unchanged import unchanged
from .plan import Curve, HostRate, Plan, Progress
from .row import Row, best_of
from .saved import question_of, read_or_make
from .search import CurveSearch, default_sizes, interpolated
from .steps import Steps
from .sweep import Searched, Sweep
from .targets import Target
from .targets import target as target_named
from .told import verdict
from .wanted import TARGET, Wanted, wanted_of


def plan(
    model: Any,
    x: Any = None,
    y: Any = None,
    *,
    target: str | Sequence[str] = TARGET,
    batch_sizes: int | Sequence[int] | None = None,
    precision: str | Sequence[str] | None = None,
    yes: bool = False,
    seconds: float = SECONDS,
    memory_bytes: int | None = None,
    advise: bool = True,
    host: bool = True,
    progress: Callable[[Progress], Any] | None = None,
    compiler: Compiler | None = None,
    saved: str | os.PathLike[str] | None = None,
    **keras_arguments: Any,
) -> Plan:
    """Return what the TPU compiler makes of training a model. Nothing is trained, and no TPU is needed.

    Every figure is the compiler's estimate. The model, the data and the random generators stay as they are.

    Args:
        model: A compiled Keras model.
        x: Inputs: arrays of shape ``(rows, ...)``, a dataset, or shapes alone
            (``keras.KerasTensor((None, 28, 28, 1), "float32")``).
        y: Targets, with arrays and shapes only.
        target: A slice, several of them, or their names with commas between them: ``"v2-8,v5e-1"``.
        batch_sizes: Global batch sizes; chosen and searched when None.
        precision: ``"float32"``, ``"bfloat16"``, several, or ``"keep"`` or None for the model's own.
        yes: Go on when it takes longer than about two minutes of compiling.
        seconds: Time that one compile may take.
        memory_bytes: Memory that one compile may take; by default a share of what is free.
        advise: Compile changes too, to say what each gains.
        host: Measure for a moment how fast this machine prepares batches.
        progress: Called with a `Progress` whenever something is new, and twice a second.
        compiler: The compiler to ask; by default one of its own, with answers kept on disk.
        saved: A file that holds the plan, to be read instead of asking the compiler. Where there is no such file yet,
            the plan is made and written to it. Prints which of the two it was.
        **keras_arguments: Everything else ``model.fit`` takes; what concerns the step is heeded.

    Returns:
        The plan; after an interrupt or without `yes`, what was found so far, `Plan.complete` False.

    Raises:
        OptionError: For an unknown target or precision, batch sizes that are none, and a saved plan of another question.
        DataError: For data that does not match the model, for text, and for what can be read only once.
        ModelError: For a model that was never compiled, and an operation that a TPU cannot run.
        CompilerError: When there is no compiler on this machine, and nothing of the plan is known from before.

    Example:
        >>> found = plan(model, x_train, y_train, target="v2-8,v5e-1")  # doctest: +SKIP
        >>> print(found.table())  # doctest: +SKIP
    """
    begun = time.monotonic()
    wanted = wanted_of(target, batch_sizes, precision)
    arguments = _arguments(model, x, y, keras_arguments)
    if saved is not None:
        names = [one.name for one in wanted.targets]
        question = question_of(model, arguments["x"], names, wanted.batch_sizes, wanted.precisions)
        asked_for: dict[str, Any] = {"target": names, "batch_sizes": wanted.batch_sizes, "precision": precision}
        how: dict[str, Any] = {"yes": yes, "seconds": seconds, "memory_bytes": memory_bytes, "compiler": compiler}
        how |= {"advise": advise, "host": host, **keras_arguments}
        return read_or_make(
            saved, question, lambda teller: plan(model, x, y, **asked_for, **how, progress=progress or teller)
        )
    with ExitStack() as stack:
        stack.enter_context(unchanged(model))
        asked = read(model, arguments, wanted.targets[0])
        answers, heads = Cache(), Heads()
        own = compiler if compiler is not None else stack.enter_context(Compiler(cache=answers))

        def make_steps(model: Any, parts: tuple[Any, Any, Any]) -> Steps:
            return Steps(model, parts, asked.passed_on, heads, asked.fixed)

        steps = make_steps(model, asked.parts)
        sweep = Sweep(steps, own, yes, seconds, memory_bytes, progress or (lambda now: None), begun=begun)
        curves = [
            Searched(slice_, one, _search(slice_, asked, wanted))
            for slice_ in wanted.targets
            for one in wanted.precisions
        ]
        sweep.run(curves)
        rows = sweep.ordered(curves)
        _raise_if_nothing(rows, sweep)
        most = _most(asked)
        best = _best(rows, wanted.targets, most)
        told: tuple[Any, ...] = ()
        rate = None
        if best is not None and not sweep.interrupted:
            if advise:
                told = advice(
                    best, _as_it_is(rows, best, asked), rows, target_named(best.target), sweep, asked.parts, make_steps
                )
            if host and not sweep.interrupted:
                rate = _host(asked, arguments, best, sweep)
    drawn = tuple(_drawn(curve, rows) for curve in curves)
    return Plan(
        model_name=str(getattr(model, "name", "model")),
        rows=rows,
        curves=drawn,
        advice=told,
        host=rate,
        verdict=verdict(rows, drawn, best, told, most),
        recommended=_recommended(best, asked.rows),
        compiler=sweep.versions,
        seconds=time.monotonic() - begun,
        complete=not sweep.interrupted and not sweep.left_out,
        problems=(*_problems(sweep), *asked.remarks, *filter(None, [answers.remark or heads.remark])),
        most_rows=most,
    )


def _arguments(model: Any, x: Any, y: Any, more: Mapping[str, Any]) -> dict[str, Any]:
    import keras

    from ..checking.check import _keras_fit
    from ..rewrite.request import arguments_of

    if not isinstance(model, keras.Model):
        raise ModelError(
            f"{type(model).__name__} is no Keras 3 model.",
            expected="a compiled keras.Model.",
            type_next="%tpu_plan model x_train y_train",
        )
    return arguments_of(_keras_fit(), model, (x, y), dict(more))


def _search(slice_: Target, asked: Asked, wanted: Wanted) -> CurveSearch:
    """Return the search of one target: the sizes asked for, or a few around what a fit would take, and the largest."""
    sizes: tuple[int, ...]
    if asked.fixed is not None and wanted.batch_sizes is None:
        sizes = (asked.fixed,)
    else:
        sizes = wanted.batch_sizes or default_sizes(asked.chosen(slice_.devices), slice_.devices, asked.rows)
    return CurveSearch(
        sizes,
        slice_.devices,
        asked.rows,
        to_the_largest=wanted.batch_sizes is None and asked.fixed is None,
        allowed_bytes=slice_.hbm_bytes,
    )


def _raise_if_nothing(rows: Sequence[Row], sweep: Sweep) -> None:
    """Raise what every row was refused for, so that it is said once and in full."""
    if sweep.errors and not any(row.fits or row.status == "out-of-memory" for row in rows):
        raise sweep.errors[0]


def _most(asked: Asked) -> int | None:
    """Return the largest batch that leaves enough steps in an epoch, None where nobody knows its rows."""
    return None if asked.rows is None else max(asked.rows // MIN_STEPS_PER_EPOCH, asked.chosen(1))


def _best(rows: Sequence[Row], targets: Sequence[Target], most: int | None) -> Row | None:
    for one in targets:
        found = best_of([row for row in rows if row.target == one.name], most)
        if found is not None:
            return found
    # Where the compiled text could not be read, what fits is known and no time is.
    return next((row for row in rows if row.fits), None)


def _as_it_is(rows: Sequence[Row], best: Row, asked: Asked) -> Row | None:
    """Return the row of what ``%%tpu_fit`` would take by itself, where it was compiled."""
    size = asked.chosen(best.devices)
    same = [row for row in rows if (row.target, row.precision, row.batch_size) == (best.target, best.precision, size)]
    return next((row for row in same if row.fits), None)


def _host(asked: Asked, arguments: Mapping[str, Any], best: Row, sweep: Sweep) -> HostRate | None:
    try:
        return host_rate(asked, arguments, best, target_named(best.target))
    except KeyboardInterrupt:
        sweep.interrupted = True
        return None


def _drawn(curve: Searched, rows: Sequence[Row]) -> Curve:
    own = [row for row in rows if (row.target, row.precision) == (curve.target.name, curve.precision)]
    return Curve(
        target=curve.target.name,
        precision=curve.precision,
        points=interpolated(own, curve.target.devices),
        largest_batch=curve.search.largest,
        first_refused=curve.search.first_full,
    )


def _recommended(best: Row | None, rows: int | None) -> FitOptions:
    """Return the options to train with; none where nothing fits, or only more rows than there are."""
    if best is None or (rows is not None and best.batch_size > max(rows, best.devices * TILE_ROWS)):
        return FitOptions()
    return FitOptions(batch_size=best.batch_size, precision=best.precision or "keep")


def _problems(sweep: Sweep) -> tuple[str, ...]:
    said = []
    if sweep.interrupted:
        said.append("Interrupted: these are the answers so far, and they are kept.")
    if sweep.left_out:
        minutes = max(1, round(sweep.left_out / 60))
        said.append(
            f"Not all was compiled: the rest takes about {minutes} more minute{'s' if minutes != 1 else ''}. "
            "What is known is kept. Type: --yes (in Python: yes=True)"
        )
    return tuple(said)
