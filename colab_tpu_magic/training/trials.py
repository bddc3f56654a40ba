"""Train one model several times from the same start, each time with other settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import keras

from ..backends.variables import forget_functions
from ..errors import ModelError, OptionError, nearest
from ..options import FitOptions
from ..rewrite.prepared import FitRequest, PreparedFit
from ..rewrite.request import arguments_of, read_fit
from ..rewrite.rules import prepare
from ..rewrite.rules.learning_rate import plain_rate
from ..rewrite.sources import ArraySource
from .run import Run
from .starting_point import StartingPoint

if TYPE_CHECKING:
    from ..backends.base import Runtime

AS_COMPILED = "as compiled"
# Keras' own defaults; momentum has no class of its own.
OPTIMIZERS: dict[str, Callable[[], Any] | None] = {
    AS_COMPILED: None,
    "sgd": keras.optimizers.SGD,
    "sgd, momentum 0.9": lambda: keras.optimizers.SGD(momentum=0.9),
    "rmsprop": keras.optimizers.RMSprop,
    "adam": keras.optimizers.Adam,
    "adamw": keras.optimizers.AdamW,
    "lion": keras.optimizers.Lion,
}
MAX_TRIALS = 10


@dataclass(frozen=True)
class TrialSettings:
    """What one run is to be trained with.

    Attributes:
        epochs: Epochs to train.
        batch_size: Global batch size in rows, ``"auto"`` or ``"keep"``.
        learning_rate: A rate, ``"auto"`` or ``"keep"``.
        precision: ``"keep"``, ``"float32"`` or ``"bfloat16"``.
        optimizer: A key of `OPTIMIZERS`.
        seed: Seeds the shuffle and the random layers; None draws one.
        proceed: Go on from the weights of the last run in place of the first ones.
        name: What to call the run; made from the settings when empty.
    """

    epochs: int = 5
    batch_size: int | str = "auto"
    learning_rate: float | str = "auto"
    precision: str = "keep"
    optimizer: str = AS_COMPILED
    seed: int | None = 0
    proceed: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be trained with.

        Raises:
            OptionError: With the nearest setting that can.
        """
        if self.optimizer not in OPTIMIZERS:
            known = list(OPTIMIZERS)
            raise OptionError(
                f"optimizer {self.optimizer!r} is not known.",
                expected=f"one of {', '.join(known)}.",
                type_next=f"optimizer={nearest(self.optimizer, known)!r}",
            )
        self.fit_options()

    def fit_options(self) -> FitOptions:
        """Return the same as options of `%%tpu_fit`."""
        return FitOptions(
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            precision=self.precision,
            seed=self.seed,
        )


class Trials:
    """The runs of one model on one data set.

    Args:
        model: A compiled model; it holds the weights of the last run.
        x: Inputs, as for ``model.fit``.
        y: Targets, with arrays only.
        fit_arguments: Everything else ``model.fit`` takes, such as ``validation_data``.
        runtime: What trains.
        intercepting: Returns the context in which ``model.fit`` trains on the runtime, given the
            options and what to call with the run before it starts.

    Attributes:
        runs: The last ten runs, oldest first.
    """

    def __init__(
        self,
        model: Any,
        x: Any,
        y: Any,
        fit_arguments: dict[str, Any],
        runtime: Runtime,
        intercepting: Callable[[FitOptions, Callable[[Run], None]], AbstractContextManager[Any]],
    ) -> None:
        self.model = model
        self.x, self.y = x, y
        self.fit_arguments = fit_arguments
        self.runtime = runtime
        self.runs: list[Run] = []
        self._intercepting = intercepting
        self.request = self._read()
        data = self.request.data
        if not isinstance(data, ArraySource) and data.once:
            raise ModelError(
                "A generator can be read only once, and several runs need the data again.",
                expected="arrays, a tf.data.Dataset or a keras.utils.PyDataset.",
            )
        self.start = StartingPoint(model, data.example)
        self._optimizer_name = AS_COMPILED

    def preview(self, settings: TrialSettings) -> PreparedFit:
        """Return the fit as the rules would prepare it, and change nothing.

        Raises:
            TpuMagicError: As the training itself would.
        """
        own = self.model.optimizer
        # A rate that was set by hand in the last run is the optimizer's until the next one starts anew.
        with nullcontext() if settings.proceed else self.start.first_rate():
            try:
                self.model.optimizer = self._optimizer(settings)
                # That rule looks at every value of the data, too long for each key that is typed.
                options = replace(settings.fit_options(), no=("normalise-on-device",))
                return prepare(self.request, self.runtime, options, seed=0)
            finally:
                self.model.optimizer = own

    def train(self, settings: TrialSettings) -> Run:
        """Train once; the way is that of `%%tpu_fit`.

        Returns:
            The run, also when it was stopped.

        Raises:
            Exception: What ended the run before its end; it is in `runs` all the same.
        """
        prepared = self.preview(settings)  # before anything is changed: it may refuse the settings
        name = settings.name or self.name_of(settings, prepared)
        optimizer = self._optimizer(settings)
        if not settings.proceed:
            self.start.restore()
        self.model.optimizer = optimizer
        self._optimizer_name = settings.optimizer
        forget_functions(self.model)
        started: list[Run] = []

        def begin(run: Run) -> None:
            run.name = self._free_name(name)
            started.append(run)

        try:
            with self._intercepting(settings.fit_options(), begin):
                self.model.fit(self.x, self.y, **self.fit_arguments)
        finally:
            self.runs += started
            del self.runs[:-MAX_TRIALS]
        return started[-1]

    def name_of(self, settings: TrialSettings, prepared: PreparedFit) -> str:
        """Return a name that says what is special about a run: its batch, its rate, and what was chosen."""
        parts = [f"batch {prepared.batch_size:,}"]
        rate = self.rate_of(settings, prepared)
        if rate is not None:
            parts.append(f"rate {rate:.3g}" if rate < 1000 else f"rate {rate:,.0f}")
        if settings.optimizer != AS_COMPILED:
            parts.append(settings.optimizer)
        if settings.precision != "keep":
            parts.append(settings.precision)
        if settings.proceed:
            parts.append("continued")
        return ", ".join(parts)

    def rate_of(self, settings: TrialSettings, prepared: PreparedFit) -> float | None:
        """Return the learning rate a run would begin with, None for a schedule."""
        if prepared.learning_rate is not None:
            return prepared.learning_rate
        with nullcontext() if settings.proceed else self.start.first_rate():
            return plain_rate(self._optimizer(settings))

    def _optimizer(self, settings: TrialSettings) -> Any:
        """Return the optimizer of the settings: the model's own, the one it has, or a new one."""
        if settings.proceed and settings.optimizer == self._optimizer_name:
            return self.model.optimizer
        make = OPTIMIZERS[settings.optimizer]
        return self.start.optimizer if make is None else make()

    def _free_name(self, name: str) -> str:
        taken = {run.name for run in self.runs}
        names = _numbered(name)
        return next(one for one in names if one not in taken)

    def _read(self) -> FitRequest:
        return read_fit(self.model, arguments_of(keras.Model.fit, self.model, (self.x, self.y), self.fit_arguments))


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name} ({number})"
        number += 1
