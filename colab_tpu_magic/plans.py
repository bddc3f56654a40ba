"""Make plans and show them: of a model and its data, of the fits in a cell, and of a fit that trains as planned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .errors import ModelError
from .options import FitOptions, PlanOptions, option
from .session import current_runtime, session

if TYPE_CHECKING:
    from .backends.base import Runtime
    from .planner.plan import Plan

DEFAULT_TARGET = "v5e-1"
# What plan() takes by itself, and what is none of a step's business.
_NOT_PASSED = ("x", "y", "verbose", "callbacks", "kwargs", "validation_data", "validation_freq", "validation_steps")


@dataclass(frozen=True)
class PlannedFitOptions(FitOptions):
    """The options of a fit that a plan has filled in.

    Attributes:
        because: Why the batch size and the precision are what they are, for the table of changes.
    """

    because: str = option("", "Why the batch size and the precision are what they are.")


def default_target(runtime: Runtime | None) -> str:
    """Return the slice to plan for when nobody says: the one that is connected, or v5e-1."""
    from .planner.targets import TARGETS

    found = runtime.slice.name if runtime is not None and runtime.slice is not None else ""
    return found if found in TARGETS else DEFAULT_TARGET


def plan_shown(
    model: Any, arguments: dict[str, Any], options: PlanOptions, shell: Any = None, *, quiet: bool = False
) -> Plan:
    """Plan one fit, show how far it is and then its card, and remember it as the last plan.

    Args:
        model: A compiled Keras model.
        arguments: Arguments of the `fit` call by name, ``x`` and ``y`` among them.
        options: For which targets, sizes and precisions.
        shell: The IPython shell, None outside IPython.
        quiet: Show nothing.

    Raises:
        DataError: For data that does not match the model or cannot be read twice.
        ModelError: For a model that cannot be planned.
        OptionError: When an option cannot hold.
    """
    from .planner.planning import plan
    from .widgets.plan_view import PlanView, mark_shown, view_kind

    passed = {name: value for name, value in arguments.items() if name not in _NOT_PASSED and value is not None}
    limits: dict[str, Any] = {}
    if options.seconds is not None:
        limits["seconds"] = options.seconds
    if options.memory is not None:
        limits["memory_bytes"] = int(options.memory * 2**30)
    name = str(getattr(model, "name", type(model).__name__))
    with PlanView(name, view_kind(shell, quiet)) as view:
        made = plan(
            model,
            arguments["x"],
            arguments.get("y"),
            target=options.target or default_target(session.runtime),
            batch_sizes=options.batch_sizes or None,
            precision=options.precision or None,
            yes=options.yes,
            progress=view,
            **limits,
            **passed,
        )
        view.finish(made)
    mark_shown(made, shell)
    session.last_plan = made
    return made


def plan_cell(text: str, cell: Any, shell: Any, options: PlanOptions) -> list[Plan]:
    """Run a cell with its fits caught, and plan each; nothing is trained, and the notebook is as before.

    Args:
        text: The cell's text after the magic's line.
        cell: The same, compiled.
        shell: The IPython shell.
        options: For which targets, sizes and precisions.

    Raises:
        ModelError: When the cell fits no model.
        Exception: What the cell raises before its first fit, or a fit that cannot be planned.
    """
    __tracebackhide__ = True
    from .checking.plan_run import plan_run

    runtime = current_runtime()

    def make(model: Any, arguments: dict[str, Any]) -> Plan:
        return plan_shown(model, arguments, options, shell)

    return plan_run(text, cell, shell, runtime, make)


def planned_options(
    model: Any, arguments: dict[str, Any], runtime: Runtime, options: FitOptions, shell: Any = None
) -> FitOptions:
    """Return the options of a fit with the batch size and the precision that a plan recommends.

    The model's own precision and bfloat16 are compared. What was given by hand is kept, and the plan is for it. The
    batch size is made to divide over the replicas that train here, and is no more than the rows there are.

    Args:
        model: The model of the fit.
        arguments: Its arguments by name.
        runtime: What will train.
        options: The options of the cell, with `plan`.
        shell: The IPython shell, None outside IPython.

    Raises:
        ModelError: When nothing fits, or the compiler answers nothing.
    """
    target = default_target(runtime) if options.plan in (None, "auto") else str(options.plan)
    found = plan_shown(model, arguments, _asked(target, options), shell, quiet=options.quiet)
    advised = found.recommended
    best = found.best(target)
    if best is None or not isinstance(advised.batch_size, int):
        why = "recommends nothing to train with" if found.complete else "was not made to its end"
        raise ModelError(
            f"The plan for {target} {why}. {found.verdict}".rstrip(),
            expected="a batch size that fits.",
            type_next="%%tpu_fit   (without --plan)",
        )
    changed: dict[str, Any] = {"plan": None}
    if options.batch_size == "auto" and "batch-size" not in options.no:
        changed["batch_size"] = _trainable(advised.batch_size, arguments["x"], runtime.replicas)
    if options.precision == "keep":
        changed["precision"] = advised.precision
    because = f"The TPU compiler's plan for {target} recommends it, by its estimates: {found.verdict}"
    if changed.get("batch_size", advised.batch_size) != advised.batch_size:
        because += f" Its {advised.batch_size:,} rows were fitted to the rows and the {runtime.replicas} replicas here."
    kept = {name: value for name, value in asdict(options).items() if name in FitOptions.__dataclass_fields__}
    return PlannedFitOptions(**{**kept, **changed}, because=because)


def install_compiler(say: Callable[[str], None] = print) -> None:
    """Install the TPU compiler into its own environment, its size said first; say so where it is there already.

    Raises:
        CompilerError: When it cannot be had on this machine.
    """
    from .planner.compiler import CompilerError, find_environment
    from .planner.compiler.install import install

    try:
        found = find_environment()
    except CompilerError as missing:
        if missing.kind == "platform":
            raise
    else:
        say(f"The TPU compiler is there: jax {found.jax}, libtpu {found.libtpu}, in {found.origin}.")
        return
    install(say)


def _asked(target: str, options: FitOptions) -> PlanOptions:
    """Return what to plan for a fit: what was given by hand, and else what there is to choose from."""
    sizes = (options.batch_size,) if isinstance(options.batch_size, int) else ()
    if options.precision != "keep":
        precisions: tuple[str, ...] = (options.precision,)
    else:
        precisions = ("keep",) if "precision" in options.no else ("keep", "bfloat16")
    return PlanOptions(target=(target,), batch_sizes=sizes, precision=precisions)


def _trainable(batch_size: int, x: Any, replicas: int) -> int:
    """Return the batch size nearest to a recommended one that the rows and the replicas here can take."""
    rows = _rows(x)
    size = max(1, round(batch_size / replicas)) * replicas
    return size if rows is None or size <= rows else max(replicas, rows // replicas * replicas)


def _rows(x: Any) -> int | None:
    leaf = x
    while isinstance(leaf, dict | list | tuple) and leaf:
        leaf = next(iter(leaf.values())) if isinstance(leaf, dict) else leaf[0]
    shape = getattr(leaf, "shape", None)
    try:
        return int(shape[0]) if shape else None
    except (TypeError, ValueError):
        return None
