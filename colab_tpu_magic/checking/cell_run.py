"""Run a cell with fit, evaluate and predict caught: each is looked at, none trains."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..cell import compile_cell, line_of
from ..errors import TpuMagicError
from ..explain import explain
from ..hardware.environment import detect_environment
from ..options import FitOptions
from ..rewrite.finding import Finding
from ..training.intercept import Interceptor
from .check import check_call, refusal
from .environment_traps import find_in_environment
from .guard import same_compilation, same_environment, same_names, same_random_numbers
from .report import STOPPED, UNUSED, Report, is_in_text, merged
from .unmeasured import no_evaluation, no_history, no_prediction

if TYPE_CHECKING:
    from ..backends.base import Runtime


class Looker(Interceptor):
    """Look at each call where `Interceptor` would train.

    Attributes:
        reports: What was found at each fit.
    """

    def __init__(self, runtime: Runtime, options: FitOptions) -> None:
        # A seed would be set for the cell and stay set.
        super().__init__(runtime, replace(options, seed=None), lambda run, verbose: None)
        self.reports: list[Report] = []

    def fit(self, model: Any, args: tuple, kwargs: dict) -> Any:
        """Look at one `fit`; return a history without figures."""
        arguments = self._arguments("fit", model, args, kwargs)
        self.reports.append(check_call(model, arguments, self.runtime, self.options))
        return no_history(model, arguments)

    def evaluate(self, model: Any, args: tuple, kwargs: dict) -> Any:
        """Return figures that are none."""
        self._arguments("evaluate", model, args, kwargs)
        return no_evaluation(model, bool(kwargs.get("return_dict")))

    def predict(self, model: Any, args: tuple, kwargs: dict) -> Any:
        """Return zeros in the shape of a prediction."""
        return no_prediction(model, self._arguments("predict", model, args, kwargs))

    def _arguments(self, method: str, model: Any, args: tuple, kwargs: dict) -> dict[str, Any]:
        from ..rewrite.request import arguments_of

        self.calls += 1
        return arguments_of(self._keras[method], model, args, kwargs)


def check_run(text: str, before: Report, shell: Any, runtime: Runtime, options: FitOptions) -> Report:
    """Return what a cell would run into below ``%%tpu_fit``.

    The cell runs in the notebook, its fits excepted; afterwards the notebook's names, the environment
    variables, the random generators and every model's compilation are what they were. What else it does,
    such as writing a file, is done.

    Args:
        text: The cell's text after the magic's line.
        before: What its text and the machine show, without an error among it.
        shell: The InteractiveShell.
        runtime: The connected runtime.
        options: How its fits would be prepared.

    Raises:
        SyntaxError: As the cell alone would.
    """
    __tracebackhide__ = True
    looker = Looker(runtime, options)
    cell = compile_cell(shell, text)
    late: list[Finding] = []
    with contextlib.ExitStack() as stack:
        for guard in (same_random_numbers(), same_environment(), same_names(shell.user_ns), same_compilation()):
            stack.enter_context(guard)
        stack.enter_context(looker)
        try:
            cell.run(shell.user_ns)
        except Exception as error:
            late.append(_stopped(error, line_of(error, cell.filename), bool(looker.calls)))
    if not looker.calls and not late:
        late.append(Finding(UNUSED, "note", looker.nothing_trained().splitlines()[0], "model.fit(x, y) in the cell"))
    found = [
        *filter(is_in_text, before.findings),
        *(finding for report in looker.reports for finding in report.findings),
        *late,
    ]
    found += find_in_environment(detect_environment(), runtime)
    changes = {
        (change.rule, change.before, change.after): change for report in looker.reports for change in report.changes
    }
    unseen = dict.fromkeys(sentence for report in looker.reports for sentence in report.not_looked_at)
    return Report(merged(found), tuple(changes.values()), tuple(unseen))


def _stopped(error: Exception, line: int | None, trains: bool) -> Finding:
    """Return the finding of a cell that ended in an error: before its first fit the error is the cell's own."""
    known = error if isinstance(error, TpuMagicError) else explain(error)
    if known is not None:
        said = refusal(known)
        place = f"Line {line}: " if line else ""
        return Finding(STOPPED, "error", f"{place}{said.message}", said.type_next)
    first = (str(error).strip().splitlines() or [""])[0][:200]
    stopped = f"Line {line or '?'}: {type(error).__name__}: {first}{'' if first.endswith('.') else '.'}"
    if not trains:
        return Finding(STOPPED, "error", f"{stopped} The cell ended here, before its first fit.", "")
    why = "The cell was looked at up to here. Nothing was trained, so it had no figures to go on with."
    return Finding(STOPPED, "note", f"{stopped} {why}")
