"""Keep a whole plan in a file of its own, and read it again when the same is asked: no compiler is needed then."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from ..errors import OptionError
from .plan import Plan, Progress
from .plan_json import plan_fields, plan_of
from .row import FITS, OUT_OF_MEMORY

FORMAT = 1
"""Goes up when what a file holds changes its meaning."""

Make = Callable[[Callable[[Progress], Any]], Plan]
"""Makes the plan, telling where it stands."""


@dataclass(frozen=True)
class Question:
    """What a plan was asked, as far as it shows without lowering anything.

    Attributes:
        targets: Names of the slices.
        batch_sizes: Global batch sizes, or None where they were to be chosen.
        precisions: As in `Row`.
        optimizer: The class of the optimizer.
        inputs: The shape of one row of each input; None where only a dataset knows it.
        layers: For each layer its class and the shapes of its weights; None where the model was not built yet.
    """

    targets: tuple[str, ...]
    batch_sizes: tuple[int, ...] | None
    precisions: tuple[str, ...]
    optimizer: str
    inputs: tuple[tuple[int | None, ...], ...] | None
    layers: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] | None

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it: lists for tuples."""
        return dict(json.loads(json.dumps(asdict(self))))

    def unlike(self, other: Mapping[str, Any]) -> list[str]:
        """Return what differs from another question, as `plain` gives it; what one of them leaves open does not."""
        own = self.plain()
        names = [name for name in own if name != "batch_sizes" and None not in (own[name], other.get(name))]
        return [name.replace("_", " ") for name in ("batch_sizes", *names) if own[name] != other.get(name)]


def question_of(
    model: Any, x: Any, targets: Sequence[str], batch_sizes: tuple[int, ...] | None, precisions: Sequence[str]
) -> Question:
    """Return what is asked of a model.

    Args:
        model: A compiled Keras model.
        x: Inputs: arrays, shapes alone, or a dataset.
        targets: Names of the slices.
        batch_sizes: Global batch sizes, or None.
        precisions: As in `Row`.
    """
    import keras

    leaves = keras.tree.flatten(x)
    known = all(hasattr(leaf, "shape") for leaf in leaves)
    layers = tuple(
        (type(layer).__name__, tuple(tuple(map(int, weight.shape)) for weight in layer.weights))
        for layer in model.layers
    )
    return Question(
        targets=tuple(targets),
        batch_sizes=batch_sizes,
        precisions=tuple(precisions),
        optimizer=type(getattr(model, "optimizer", None)).__name__,
        inputs=tuple(tuple(leaf.shape[1:]) for leaf in leaves) if known else None,
        layers=layers if model.built else None,
    )


def read_or_make(path: str | os.PathLike[str], question: Question, make: Make) -> Plan:
    """Return the plan that a file holds; where there is no such file, make the plan and write it.

    It prints which of the two it did. An unfinished plan, or one with refused rows, is returned
    and not written: another time the compiler may answer.

    Args:
        path: The file.
        question: What is asked now.
        make: Makes the plan.

    Raises:
        OptionError: When the file holds no plan, or that of another question.
    """
    path = Path(path)
    if path.exists():
        return _read(path, question)
    print(f"{path} is not there: asking the TPU compiler now.")
    made = make(_Teller())
    if not made.complete or any(row.status not in (FITS, OUT_OF_MEMORY) for row in made.rows):
        print(f"The plan is not complete, so {path} was not written. What is known is kept for the next time.")
        return made
    _write(path, question, made)
    return made


def _read(path: Path, question: Question) -> Plan:
    remedy = f"a file of another name, or delete {path}: then the compiler is asked anew."
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        if held["format"] != FORMAT:
            raise ValueError(f"format {held['format']}, and {FORMAT} is what is read")
        plan, asked, made = plan_of(held["plan"]), dict(held["asked"]), str(held["made"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise OptionError(f"{path} holds no plan that can be read ({error}).", expected=remedy) from None
    unlike = question.unlike(asked)
    if unlike:
        raise OptionError(f"{path} holds the plan of another question: other {', '.join(unlike)}.", expected=remedy)
    print(f"Read from {path}, made on {made} by {plan.compiler}. Nothing was compiled.")
    return plan


def _write(path: Path, question: Question, plan: Plan) -> None:
    import keras

    text = json.dumps(
        {
            "format": FORMAT,
            "made": str(date.today()),
            "backend": keras.backend.backend(),
            "asked": question.plain(),
            "plan": plan_fields(plan),
        },
        indent=1,
        ensure_ascii=False,
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".partial")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text + "\n")
            os.chmod(partial, 0o644)
            os.replace(partial, path)
        except BaseException:
            os.unlink(partial)
            raise
    except OSError as error:
        print(f"{path} could not be written ({error.strerror}), so the next time it is compiled again.")
    else:
        print(f"Written to {path}.")


class _Teller:
    """Prints what is done, whenever it is something new."""

    def __init__(self) -> None:
        self._stage = ""

    def __call__(self, progress: Progress) -> None:
        if progress.stage != self._stage:
            self._stage = progress.stage
            print(f"  {progress.stage}")
