"""What a plan answers: rows, curves, advice and a verdict. Every figure is the compiler's estimate, never measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ..errors import OptionError
from ..options import FitOptions
from .row import Row, best_of

ESTIMATE = "Estimates of the TPU compiler, not measured on a TPU."
"""What stands under every figure that is shown."""


@dataclass(frozen=True)
class CurvePoint:
    """One batch size of a curve.

    Attributes:
        batch_size: Rows in the global batch.
        examples_per_second: Rows a second over all devices, the lower end.
        compiled: Whether it was compiled; False for what is interpolated between neighbours.
    """

    batch_size: int
    examples_per_second: float
    compiled: bool


@dataclass(frozen=True)
class Curve:
    """How the rate grows with the batch size, on one target in one precision.

    Attributes:
        target: The slice.
        precision: As in `Row`.
        points: By batch size, smallest first.
        largest_batch: The largest batch size that fits, as searched; None where it was not searched for or nothing fits.
        first_refused: The smallest batch size that was tried and does not fit, or None.
    """

    target: str
    precision: str
    points: tuple[CurvePoint, ...]
    largest_batch: int | None = None
    first_refused: int | None = None


@dataclass(frozen=True)
class Advice:
    """Something to change, and what it gains by the compiler's estimate; it was found by compiling it.

    Attributes:
        text: The advice in a sentence, gain included.
        gain: Examples per second afterwards, as a multiple of before.
        before: Examples per second as it is.
        after: Examples per second with the change.
        typed: The line to type or the change to make: ``"--precision bfloat16"``.
    """

    text: str
    gain: float
    before: float
    after: float
    typed: str = ""


@dataclass(frozen=True)
class HostRate:
    """How fast this machine prepares batches. Measured here; no part of any other figure.

    Attributes:
        examples_per_second: Rows a second of the prepared pipeline.
        how: What was measured, in a sentence.
        enough: Whether it feeds the recommended row at its estimated rate; None where there is none.
    """

    examples_per_second: float
    how: str
    enough: bool | None = None


@dataclass(frozen=True)
class Progress:
    """Where a plan stands.

    Attributes:
        stage: What is done now, in a few words: ``"compiling v5e-1, batch 1,024"``.
        elapsed: Seconds since the plan began.
        remaining: Seconds that it is expected to take from here; None where nothing is known yet.
        next: What comes next, in a few words, or ``""``.
        rows: All rows so far; those that are waited for have the status ``"pending"``.
    """

    stage: str
    elapsed: float
    remaining: float | None
    next: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Plan:
    """What the TPU compiler makes of a training: whether it fits, how fast it is, what to change.

    Attributes:
        model_name: The model's name.
        rows: One for each target, precision and batch size that was compiled.
        curves: One for each target and precision.
        advice: What to change, highest gain first.
        host: How fast this machine feeds it, or None.
        verdict: All of it in a sentence.
        recommended: Options for ``%%tpu_fit``: batch size and precision of the best row on the first target.
        compiler: Versions: ``"jax 0.10.2, libtpu 0.0.42.1"``; ``""`` where nothing was compiled.
        seconds: Time that the plan took.
        complete: Whether it was made to its end; False after an interrupt.
        problems: Sentences about what could not be planned.
        most_rows: The largest batch that is recommended, for it leaves 50 steps in an epoch; None for any.
    """

    model_name: str
    rows: tuple[Row, ...] = ()
    curves: tuple[Curve, ...] = ()
    advice: tuple[Advice, ...] = ()
    host: HostRate | None = None
    verdict: str = ""
    recommended: FitOptions = FitOptions()
    compiler: str = ""
    seconds: float = 0.0
    complete: bool = True
    problems: tuple[str, ...] = ()
    most_rows: int | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets in the order in which they were asked for."""
        return tuple(dict.fromkeys(row.target for row in self.rows))

    def row(self, *, target: str | None = None, batch_size: int | None = None, precision: str | None = None) -> Row:
        """Return the first row with what is given.

        Raises:
            OptionError: When there is none; lists those that there are.
        """
        for row in self.rows:
            if (
                target in (None, row.target)
                and batch_size in (None, row.batch_size)
                and precision in (None, row.precision)
            ):
                return row
        known = ", ".join(dict.fromkeys(_key(row) for row in self.rows)) or "none"
        raise OptionError("The plan has no such row.", expected=f"one of {known}.")

    def best(self, target: str | None = None) -> Row | None:
        """Return the row that fits and has the highest rate up to `most_rows`, the smaller batch of two within 3 %."""
        return best_of((row for row in self.rows if target in (None, row.target)), self.most_rows)

    def table(self) -> str:
        """Return the rows as a table of text."""
        from .told import table

        return table(self)

    def to_dataframe(self) -> Any:
        """Return the rows as a pandas DataFrame, one column for each plain figure."""
        from .told import dataframe

        return dataframe(self)

    def to_json(self) -> str:
        """Return the plan as JSON text."""
        from .plan_json import plan_fields

        return json.dumps(plan_fields(self))

    @staticmethod
    def from_json(text: str) -> Plan:
        """Return the plan that JSON text of `to_json` tells.

        Raises:
            ValueError: When it tells none.
        """
        from .plan_json import plan_of

        return plan_of(json.loads(text))

    def explain(self) -> str:
        """Return how each figure is made."""
        from .told import explained

        return explained(self)

    def _ipython_display_(self) -> None:
        from ..widgets.plan_view import show_plan

        show_plan(self)


def _key(row: Row) -> str:
    return f"{row.target} {row.batch_size} {row.precision or 'own precision'}"
