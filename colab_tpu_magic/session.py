"""The one current runtime and the last run, and the functions that make them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import ModelError, OptionError
from .options import ConnectOptions, FitOptions

if TYPE_CHECKING:
    from .backends.base import Runtime
    from .checking.report import Report
    from .planner.plan import Plan
    from .training.run import Run
    from .widgets.panel import Panel

MAX_RUNS = 100


class Session:
    """What this process has connected to and trained.

    Attributes:
        runtime: The connected runtime, or None.
        runs: The last 100 runs, oldest first.
        last_plan: The newest plan that a magic has made, or None.
        raised: Cells that ended in an error, by number: the line of the cell's code, or None.
    """

    def __init__(self) -> None:
        self.runtime: Runtime | None = None
        self.runs: list[Run] = []
        self.last_plan: Plan | None = None
        self.raised: dict[int, int | None] = {}

    def keep(self, run: Run) -> None:
        """Number and remember a run; forget the oldest beyond a hundred."""
        run.number = self.runs[-1].number + 1 if self.runs else 1
        self.runs.append(run)
        del self.runs[:-MAX_RUNS]

    @property
    def last_run(self) -> Run | None:
        """The newest run, or None."""
        return self.runs[-1] if self.runs else None


session = Session()


def connect(backend: str = "auto", simulate: str | int | None = None, verbose: bool = False) -> Runtime:
    """Find and initialise what is there, and make it the current runtime.

    Args:
        backend: ``"auto"``, ``"jax"`` or ``"tensorflow"``.
        simulate: A slice name (``"v2-8"``) or a number of virtual CPU replicas.
        verbose: Keep the start-up messages of TensorFlow, JAX and libtpu.

    Returns:
        The runtime; also `colab_tpu_magic.runtime`.

    Raises:
        ConnectError: When what was asked for cannot be had here, with the line to type next.
        OptionError: When an argument cannot be understood.

    Example:
        >>> runtime = connect(simulate="v2-8")  # doctest: +SKIP
        >>> runtime.replicas  # doctest: +SKIP
        8
    """
    from .backends.connect import make_runtime

    options = ConnectOptions(backend=backend, simulate=simulate, verbose=verbose)
    session.runtime = make_runtime(options)
    return session.runtime


def current_runtime() -> Runtime:
    """Return the current runtime, connecting to what is there when nothing is yet."""
    return session.runtime or connect()


def fit(model: Any, x: Any = None, y: Any = None, *, options: FitOptions | None = None, **keras_arguments: Any) -> Run:
    """Train a compiled Keras model on the current runtime, like ``model.fit``.

    Args:
        model: A compiled Keras model; it holds the trained weights afterwards.
        x: Inputs: arrays of shape ``(rows, ...)``, a dataset or a generator.
        y: Targets, with arrays only.
        options: How to prepare the fit.
        **keras_arguments: Everything else ``model.fit`` takes.

    Returns:
        The run.

    Raises:
        DataError: When the data cannot be used.
        ModelError: When the model cannot be trained.

    Example:
        >>> run = fit(model, x, y, epochs=5, options=FitOptions(batch_size="keep"))  # doctest: +SKIP
    """
    options = FitOptions() if options is None else options
    if not isinstance(options, FitOptions):
        raise OptionError(
            f"options is a {type(options).__name__}.",
            expected="a FitOptions.",
            type_next='tpu.fit(model, x, y, options=tpu.FitOptions(batch_size="keep"))',
        )
    with intercepting(options) as interceptor:
        _checked(model).fit(x, y, **keras_arguments)
    return interceptor.runs[-1]


def panel(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    epochs: int = 5,
    batch_size: int | str = "auto",
    learning_rate: float | str = "auto",
    precision: str = "keep",
    optimizer: str = "as compiled",
    seed: int = 0,
    **keras_arguments: Any,
) -> Panel:
    """Return the training panel: a form to train a model with, as often as wanted, and to compare the runs.

    Args:
        model: A compiled Keras model; it holds the weights of the last run.
        x: Inputs: arrays of shape ``(rows, ...)``, or a dataset that can be read again.
        y: Targets, with arrays only.
        epochs: What the form shows at first, like the following.
        batch_size: Global batch size in rows, or ``"auto"``.
        learning_rate: A rate, or ``"auto"``.
        precision: ``"keep"``, ``"float32"`` or ``"bfloat16"``.
        optimizer: ``"as compiled"``, ``"sgd"``, ``"sgd, momentum 0.9"``, ``"rmsprop"``, ``"adam"``,
            ``"adamw"`` or ``"lion"``.
        seed: Seeds the shuffle and the random layers of each run.
        **keras_arguments: Everything else ``model.fit`` takes, such as ``validation_data``.

    Raises:
        DataError: When the data cannot be used.
        ModelError: When the model cannot be trained.
        OptionError: When a setting cannot be trained with.

    Example:
        >>> panel(model, x, y, validation_data=(x_val, y_val))  # doctest: +SKIP
    """
    runtime = current_runtime()
    from .training.trials import Trials, TrialSettings
    from .widgets.panel import Panel

    settings = TrialSettings(epochs, batch_size, learning_rate, precision, optimizer, seed)
    shell = _shell()

    def make_trials(made: Panel) -> Trials:
        def train(options: FitOptions, on_run: Callable[[Run], None]) -> Any:
            return intercepting(options, shell, made.stage, on_run)

        return Trials(_checked(model), x, y, keras_arguments, runtime, train)

    return Panel(settings, shell).open(make_trials)


def check(
    model: Any, x: Any = None, y: Any = None, *, options: FitOptions | None = None, **keras_arguments: Any
) -> Report:
    """Return what training a model would run into here: findings, and the rules that would act. Nothing trains.

    The model, the data, random generators and files stay as they are. A generator is not touched; the report
    says what could not be looked at.

    Args:
        model: A compiled Keras model.
        x: Inputs: arrays of shape ``(rows, ...)``, a dataset or a generator.
        y: Targets, with arrays only.
        options: How the fit would be prepared.
        **keras_arguments: Everything else ``model.fit`` takes.

    Raises:
        TypeError: For arguments that ``model.fit`` does not have.

    Example:
        >>> report = check(model, x, y, batch_size=43)  # doctest: +SKIP
        >>> print(report.text())  # doctest: +SKIP
        Note: A batch of 43 rows does not divide over 8 replicas: ...
    """
    from .checking.report import Report
    from .checking.runtime import runtime_or_finding

    runtime, found = runtime_or_finding(current_runtime)
    if runtime is None:
        return Report(found)
    from .checking.check import check_model

    return check_model(model, x, y, runtime, FitOptions() if options is None else options, keras_arguments)


def check_cell(text: str, shell: Any, options: FitOptions) -> Report:
    """Return what a cell would run into below ``%%tpu_fit``: its text is read, then it runs with every fit caught.

    Args:
        text: The cell's text after the magic's line.
        shell: The IPython shell.
        options: How its fits would be prepared.

    Raises:
        OptionError: The quotes in it are those of a web page.
        SyntaxError: As the cell alone would.
    """
    __tracebackhide__ = True
    from .checking.report import Report, merged
    from .checking.runtime import runtime_or_finding
    from .checking.text import check_text

    try:
        before = check_text(text)
    except SyntaxError as error:
        if not any(quote in text for quote in "‘’“”"):
            raise
        raise OptionError(
            f"Line {error.lineno} of the cell is no Python: {error.msg}.",
            expected="straight quotes; these were copied from a web page. %%tpu_fit puts them right as it runs the cell.",
            type_next="%%tpu_migrate above the cell, and check the cell that it makes",
        ) from None
    if before.not_looked_at:
        return before
    runtime, found = runtime_or_finding(current_runtime)
    if runtime is None:
        return Report(merged([*before.findings, *found]))
    from .checking.cell_run import check_run

    return check_run(text, before, shell, runtime, options)


def explanation(topic: str | None = None) -> dict[str, str]:
    """Return a rule or a trap explained, with a picture, as a MIME bundle; the list of them all without a topic.

    Args:
        topic: Id of a rule or a trap, such as ``"batch-size"``.

    Raises:
        OptionError: There is no such rule or trap.
    """
    from .explanations import topic_of, topics
    from .widgets.explain import topic_bundle, topics_bundle
    from .widgets.explain.figures import figures_of

    if topic is None:
        return topics_bundle(topics())
    return topic_bundle(topic_of(topic), figures_of(session.last_run, session.runtime))


def show_runs(numbers: tuple[int, ...] = (), csv: str | None = None) -> dict[str, str]:
    """Return the runs of this process as a MIME bundle: all in a list, or some over each other in one picture.

    Args:
        numbers: Which runs, by their numbers; all when empty.
        csv: Also write their series to this file.

    Raises:
        OptionError: There is no such run, or the file cannot be written.
    """
    from .training.series_csv import write_csv
    from .widgets.compare import compare_bundle
    from .widgets.runs_view import runs_bundle

    known = {run.number: run for run in session.runs}
    unknown = [number for number in numbers if number not in known]
    if unknown:
        raise OptionError(
            f"There is no run {unknown[0]}.",
            expected=f"numbers from {min(known)} to {max(known)}." if known else "a run: train something first.",
            type_next="%tpu_runs" if known else "%%tpu_fit above a cell that trains",
        )
    runs = [known[number] for number in numbers] if numbers else list(known.values())
    if csv is not None:
        write_csv(runs, csv)
    return compare_bundle(runs) if numbers else runs_bundle(runs)


def intercepting(
    options: FitOptions,
    shell: Any = None,
    stage: Any = None,
    on_run: Callable[[Run], None] = lambda run: None,
) -> Any:
    """Return the context in which Keras calls train on the current runtime.

    Args:
        options: How to prepare each fit.
        shell: The IPython shell; the one of this process when None.
        stage: Where dashboards are shown; in the output of the running cell when None.
        on_run: Called with each run before it starts.
    """
    runtime = current_runtime()
    from .training.intercept import Interceptor
    from .widgets.live import LiveView, choose_view_kind

    shell = shell if shell is not None else _shell()
    kind = "none" if options.quiet else choose_view_kind(shell)

    def make_view(run: Run, verbose: Any) -> LiveView:
        # A verbose that the call gives means what it says: Keras' own bar, or nothing. Changes are told all the same.
        told = "none" if verbose in (0, False) or options.quiet else "changes"
        return LiveView(run, kind if verbose is None else told, shell, stage)

    def begin(run: Run) -> None:
        session.keep(run)
        on_run(run)

    return Interceptor(runtime, options, make_view, begin)


def _shell() -> Any:
    from IPython import get_ipython

    return get_ipython()


def _checked(model: Any) -> Any:
    import keras

    if not isinstance(model, keras.Model):
        raise ModelError(f"{type(model).__name__} is not a Keras model.", expected="a compiled keras.Model.")
    return model
