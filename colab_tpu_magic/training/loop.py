"""Run a prepared fit: place the model, call Keras' own fit, and end cleanly whatever happens."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ..backends.base import TPU
from ..backends.feed_adapter import FeedAdapter
from ..backends.learning_rate import inner_optimizer
from ..errors import ModelError
from ..hardware.usage import UsageReader
from ..rewrite.dataset import evaluation_feed, training_feed
from ..rewrite.feed import Feed
from ..rewrite.model_parts import fixed_batch_size
from ..rewrite.prepared import PreparedFit
from ..rewrite.row_means import are_row_means, shares_may_differ
from ..rewrite.sources import ArraySource, Source
from ..rewrite.streams import bounded
from .callback import Monitor
from .callback_list import WatchedCallbacks
from .control import Control, deaf_to_interrupts
from .run import Run
from .sampler import as_number
from .settings import fit_settings

if TYPE_CHECKING:
    from ..backends.base import Engine, Runtime
    from ..widgets.live import LiveView


_trained_by: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""Each model's number of replicas in its last fit."""
_warned: WeakKeyDictionary[Any, tuple[str, ...]] = WeakKeyDictionary()
"""What each model was warned of."""


def new_run(prepared: PreparedFit, runtime: Runtime) -> Run:
    """Return the run that a prepared fit is about to fill."""
    return Run(
        device=f"{runtime.device}, {runtime.backend_title} backend",
        replicas=prepared.replicas,
        global_batch_size=prepared.batch_size,
        epochs=prepared.epochs,
        first_epoch=prepared.request.initial_epoch + 1,
        steps_per_epoch=prepared.steps_per_epoch,
        changes=prepared.changes,
        planned_shapes=prepared.shapes,
        traps=prepared.findings,
        optimizer=type(inner_optimizer(prepared.request.model)).__name__,
        precision=prepared.precision or "",
    )


def run_fit(prepared: PreparedFit, runtime: Runtime, run: Run, view: LiveView, keras_fit: Callable[..., Any]) -> Any:
    """Train, and return what Keras' fit returns.

    Args:
        prepared: The fit in TPU-ready form.
        runtime: The connected runtime.
        run: Filled while it trains.
        view: Shown while it trains; leaves a static picture.
        keras_fit: Keras' own ``Model.fit``, unbound.

    Raises:
        KeyboardInterrupt: After Ctrl-C, with the weights so far in the model.
        Exception: What the data, a callback or the step raised, likewise.
    """
    request, engine = prepared.request, runtime.engine
    model = request.model
    run.moved = _trained_by.get(model, prepared.replicas) != prepared.replicas
    _trained_by[model] = prepared.replicas
    verbose = 0 if request.verbose is None else request.verbose
    control = Control()
    feed = training_feed(
        prepared.data if prepared.coded is None else prepared.coded.source,
        prepared.batch_size,
        request.shuffle,
        prepared.seed,
        prepared.full_batches,
        prepared.prefetch,
        endless=prepared.steps_per_epoch is not None,
        most=prepared.steps_per_epoch and prepared.steps_per_epoch * max(0, prepared.epochs - request.initial_epoch),
    )
    feed.interrupted = control.interrupted
    feed.waits.handing = engine.step_takes_batches
    feed.look_ahead = engine.step_takes_batches and prepared.steps_per_epoch is None and feed.batches is None
    feed.waits.device_busy = partial(engine.is_busy, model)
    decode = None if prepared.coded is None else engine.decoder(prepared.coded.tables, prepared.on_replicas)
    usage = UsageReader(on_tpu=runtime.kind == TPU)
    view.show(control)
    validation: Feed | None = None
    monitor: Monitor | None = None
    try:
        validation = _validation(prepared, runtime)
        if validation is not None:
            validation.interrupted = control.interrupted
            validation.look_ahead = engine.step_takes_batches and validation.batches is None
        monitor = Monitor(run, engine, view, control, feed, validation, request.callbacks, lambda: usage.latest)
        with control.catching_interrupts(), fit_settings(prepared, control):
            feed.hold_errors = int(model.steps_per_execution) > 1
            if prepared.on_replicas:
                engine.place(model)
            callbacks = WatchedCallbacks(
                monitor,
                [*request.callbacks, monitor],
                add_history=True,
                add_progbar=verbose != 0,
                verbose=verbose,
                epochs=prepared.epochs,
                steps=prepared.steps_per_epoch if feed.batches is None else feed.batches,
                model=model,
            )
            with engine.calling(model, prepared.on_replicas), expecting_the_end(), _built_ahead(engine, model, feed):
                history = keras_fit(
                    model,
                    FeedAdapter(feed, decode),
                    epochs=prepared.epochs,
                    initial_epoch=request.initial_epoch,
                    steps_per_epoch=prepared.steps_per_epoch if feed.batches is None else None,
                    validation_data=FeedAdapter(validation) if validation is not None else None,
                    callbacks=callbacks,
                    verbose=verbose,
                    **request.passed_on,
                )
            # Ctrl-C during the last step: the fit is whole, the cell still ends as interrupted.
            control.check()
        run.status = "stopped" if control.stopping.is_set() else "completed"
        return history
    except BaseException as error:
        of_the_data = [one.error for one in (feed, validation) if one is not None and one.error is not None]
        cause = of_the_data[0] if of_the_data else error
        interrupted = control.interrupted.is_set() or isinstance(cause, KeyboardInterrupt)
        run.status = "interrupted" if interrupted else "failed"
        run.error = "" if interrupted else f"{type(cause).__name__}: {_first_line(cause)}"
        lost = engine.lost_variables(model)
        if lost:
            raise ModelError(
                f"The fit ended inside a step, and the device no longer has {len(lost)} of the model's variables.",
                expected="a second interrupt only when the first, which waits for the step to end, is not enough.",
                type_next="the cell that makes the model, once more",
            ) from None
        if interrupted:
            raise KeyboardInterrupt from None
        if cause is not error:
            raise cause from None
        raise
    finally:
        usage.close()
        for opened in (feed, validation):
            if opened is not None:
                opened.close()
        run.phase = "done"
        run.duration_seconds = time.perf_counter() - run.started
        own_history = getattr(getattr(model, "history", None), "history", None)
        if own_history is not None and monitor is not None and monitor.model is model:
            run.history = {name: [_plain(v) for v in values] for name, values in own_history.items()}
        with deaf_to_interrupts():
            view.finish()


@contextmanager
def expecting_the_end() -> Iterator[None]:
    """Keep Keras from warning when a feed of unknown length ends."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Your input ran out of data")
        yield


def _built_ahead(engine: Engine, model: Any, feed: Feed) -> AbstractContextManager[Any]:
    return engine.building_from(model, feed.example) if feed.stream else nullcontext()


def _ahead(prepared: PreparedFit, runtime: Runtime) -> int:
    # tf.data calls the feed from threads of its own and makes batches ahead itself.
    return 0 if runtime.engine.step_takes_batches else prepared.prefetch


def _validation(prepared: PreparedFit, runtime: Runtime) -> Feed | None:
    if prepared.validation is None:
        return None
    request = prepared.request
    size, split = evaluation_batches(request.model, prepared.validation, prepared, runtime)
    steps, own = request.validation_steps, request.validation_batch_size
    source, limit = bounded(prepared.validation, steps, own, "validation_steps")
    return evaluation_feed(source, size, prepared.replicas, limit, _ahead(prepared, runtime), split)


def evaluation_batches(model: Any, validation: Source, prepared: PreparedFit, runtime: Runtime) -> tuple[int, bool]:
    """Return the batch size of the validation, and whether its last batch may be cut."""
    fixed = fixed_batch_size(model)
    if fixed is not None:
        return fixed, are_row_means(model)
    if are_row_means(model):
        return evaluation_batch_size(validation, prepared.batch_size, prepared.replicas), True
    warn_of_shares(runtime, prepared.replicas, model, validation.example)
    return prepared.request.validation_batch_size, False


def warn_of_shares(runtime: Runtime, replicas: int, model: Any, batch: Any) -> None:
    """Warn once for each model whose loss or metrics each replica works out of its own share of the batch.

    Args:
        runtime: The connected runtime.
        replicas: How many share a batch.
        model: A compiled Keras model; what of it is known to be exact is not spoken of.
        batch: A batch of its data.
    """
    if not runtime.engine.settles or replicas == 1:
        return
    doubtful = tuple(shares_may_differ(model, batch))
    if not doubtful or _warned.get(model) == doubtful:
        return
    _warned[model] = doubtful
    said = (
        f"{', '.join(doubtful)} of {model.name!r} may be no mean over rows. Each TensorFlow replica works it out from "
        "its own share of a batch, so it can differ from plain Keras; --no scope gives plain Keras' figure."
    )
    # Where the fit stands in the user's cell says nothing, and a line of ours says less.
    warnings.warn_explicit(said, UserWarning, "%%tpu_fit", 1)


def evaluation_batch_size(source: Source, batch_size: int, replicas: int) -> int:
    """Return a global batch size for evaluation: the training one, or less when there are fewer rows."""
    size = -(-batch_size // replicas) * replicas
    if isinstance(source, ArraySource):
        size = min(size, -(-source.rows // replicas) * replicas)
    return size


def _plain(value: Any) -> Any:
    """Return a number as a float, a metric with several values as a list, and what a callback put there as it is."""
    if np.ndim(value):
        return np.asarray(value).tolist()
    number = as_number(value)
    return value if number is None else number


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0]
