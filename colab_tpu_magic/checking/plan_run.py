"""Run a cell with fit, evaluate and predict caught: each fit is planned, none trains."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..cell import Cell, line_of
from ..errors import ModelError, TpuMagicError
from ..options import FitOptions
from .cell_run import Looker
from .guard import same_compilation, same_environment, same_names, same_random_numbers
from .unmeasured import no_history

if TYPE_CHECKING:
    from ..backends.base import Runtime
    from ..planner.plan import Plan


class Planner(Looker):
    """Plan each fit where `Interceptor` would train; of fits that are alike the first.

    Attributes:
        plans: The plans that were made.
        alike: Fits of the same model with the same batch size that were not planned again.
    """

    def __init__(self, runtime: Runtime, make: Callable[[Any, dict[str, Any]], Plan]) -> None:
        super().__init__(runtime, FitOptions())
        self.plans: list[Plan] = []
        self.alike = 0
        self._make = make
        self._seen: list[tuple[Any, Any, Any]] = []

    def fit(self, model: Any, args: tuple, kwargs: dict) -> Any:
        """Plan one `fit`; return a history without figures."""
        __tracebackhide__ = True
        arguments = self._arguments("fit", model, args, kwargs)
        size, shape = arguments["batch_size"], getattr(arguments["x"], "shape", (None,))[1:]
        if any(model is known and (size, shape) == (other, one) for known, other, one in self._seen):
            self.alike += 1
        else:
            self._seen.append((model, size, shape))
            self.plans.append(self._make(model, arguments))
        return no_history(model, arguments)


def plan_run(
    text: str,
    cell: Cell,
    shell: Any,
    runtime: Runtime,
    make: Callable[[Any, dict[str, Any]], Plan],
    say: Callable[[str], None] = print,
) -> list[Plan]:
    """Return the plans of a cell's fits.

    The cell runs in the notebook; afterwards the notebook's names, the environment variables, the random
    generators and every model's compilation are what they were. What else it does, such as writing a file, is done.

    Args:
        text: The cell's text after the magic's line.
        cell: The same, compiled.
        shell: The InteractiveShell.
        runtime: The connected runtime.
        make: Plans one fit: the model, and the arguments of the call by name.
        say: Told what was not planned.

    Raises:
        ModelError: When the cell fits no model.
        Exception: What the cell raises before its first fit, and what a fit cannot be planned for.
    """
    __tracebackhide__ = True
    planner = Planner(runtime, make)
    with contextlib.ExitStack() as stack:
        for guard in (same_random_numbers(), same_environment(), same_names(shell.user_ns), same_compilation()):
            stack.enter_context(guard)
        stack.enter_context(planner)
        try:
            cell.run(shell.user_ns)
        except TpuMagicError:
            raise
        except Exception as error:
            if not planner.plans:
                raise
            first = (str(error).strip().splitlines() or [""])[0][:200]
            say(
                f"Line {line_of(error, cell.filename) or '?'}: {type(error).__name__}: {first}\n"
                "The cell was run up to here. Nothing was trained, so it had no figures to go on with."
            )
    if not planner.plans:
        raise ModelError(
            "The cell ran, and fitted no Keras model, so there is nothing to plan.",
            expected="a call such as model.fit(x, y).",
            type_next="model.fit(x_train, y_train) in the cell, or %tpu_plan model x_train y_train",
        )
    if planner.alike:
        say(f"{planner.alike} more fit{'s' if planner.alike > 1 else ''} of the same kind in the cell: same plan.")
    return planner.plans
