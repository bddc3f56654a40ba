"""While a cell runs, `fit`, `evaluate` and `predict` of Keras models pass through here."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import keras

from ..backends.cut_model import Kept
from ..backends.feed_adapter import FeedAdapter
from ..backends.loss_scale import EVALUATION, scaled_losses
from ..backends.quiet_import import quiet_standard_error
from ..backends.synchronized import taking_synchronized_layers
from ..errors import DataError, ModelError
from ..rewrite.dataset import evaluation_feed, prediction_feed, true_rows
from ..rewrite.feed import PREFETCH, Feed
from ..rewrite.model_parts import fixed_batch_size, refuse_text_in_the_step, refuse_what_cannot_move
from ..rewrite.padding import in_buckets
from ..rewrite.request import arguments_of, check_compiled, flat_callbacks, own_batch_size, read_fit
from ..rewrite.row_means import are_row_means
from ..rewrite.rules import check_switches, prepare
from ..rewrite.rules.batch_size import ROWS_PER_REPLICA, round_up
from ..rewrite.rules.dtypes import device_dtypes
from ..rewrite.rules.loss_scaling import what_is_scaled
from ..rewrite.sources import Source, rows_of
from ..rewrite.streams import bounded, read_data
from ..rewrite.text_pipeline import taking_numbers
from .callback import Guard
from .control import Control
from .legacy_keras import watching_legacy_models
from .loop import evaluation_batch_size, expecting_the_end, new_run, run_fit, warn_of_shares
from .recipe import recipe_of
from .run import Run
from .settings import held_attribute
from .shuffle_seed import shuffle_seed

if TYPE_CHECKING:
    from ..backends.base import Runtime
    from ..options import FitOptions

METHODS = ("fit", "evaluate", "predict")
_active: Interceptor | None = None


class Interceptor:
    """Train, evaluate and predict on the runtime whatever Keras model is asked to, while it is entered.

    Args:
        runtime: The connected runtime.
        options: How to prepare each fit.
        make_view: Makes the live view of a run, given the ``verbose`` of the call (None when left out).
        on_run: Called with each run before it starts.
    """

    def __init__(
        self,
        runtime: Runtime,
        options: FitOptions,
        make_view: Callable[[Run, Any], Any],
        on_run: Callable[[Run], None] = lambda run: None,
    ) -> None:
        check_switches(options)
        self.runtime = runtime
        self.options = options
        self.make_view = make_view
        self.on_run = on_run
        self.runs: list[Run] = []
        self.calls = 0
        self.calls_elsewhere = False
        self._models: list[Any] = []
        self._kept: Kept = {}
        self._keras: dict[str, Callable[..., Any]] = {}
        self._patched: dict[str, Any] = {}
        self._around = ExitStack()
        self._legacy_told = False

    def __enter__(self) -> Interceptor:
        """Put our methods on keras.Model."""
        global _active
        if _active is not None:
            raise ModelError("A %%tpu_fit cell is running already.", expected="one at a time.")
        if self.options.seed is not None:
            with quiet_standard_error():  # on JAX, Keras imports TensorFlow here to seed it too
                keras.utils.set_random_seed(self.options.seed)
        # Last: an interrupt while it seeds must leave nothing behind.
        _active = self
        self._patched = {name: vars(keras.Model)[name] for name in METHODS if name in vars(keras.Model)}
        self._keras = {name: getattr(keras.Model, name) for name in METHODS}
        for name in METHODS:
            setattr(keras.Model, name, _method(self, name, self._keras[name]))
        self._around.enter_context(taking_synchronized_layers())
        self._around.enter_context(watching_legacy_models(self.runtime, self._legacy_call))
        return self

    def __exit__(self, *exc: object) -> None:
        """Take our methods off again and bring every model home."""
        global _active
        _active = None
        self._around.close()
        for name in METHODS:
            delattr(keras.Model, name)
        for name, method in self._patched.items():  # what somebody else had put there
            setattr(keras.Model, name, method)
        for model in self._models:
            self.runtime.engine.bring_home(model)
        self._models.clear()
        self._kept.clear()

    def _legacy_call(self) -> None:
        if not self._legacy_told:
            warnings.warn(
                "A tf_keras (Keras 2) model trains here as it is: no rule changes its call, and no dashboard watches it.",
                stacklevel=4,
            )
        self.calls += 1
        self._legacy_told = True

    def nothing_trained(self) -> str:
        """Return what to tell the user of a cell in which no Keras model was used."""
        if self.calls_elsewhere:
            return (
                "The cell ran, and its model was used in another thread, which is left to plain Keras.\n"
                "Expected: fit in the thread that runs the cell.\nType: model.fit(x, y) in the cell itself"
            )
        if "tf_keras" in sys.modules:
            return (
                "The cell ran, but it trained no Keras 3 model; tf_keras (Keras 2) models do not pass through.\n"
                "Expected: import keras.\nType: import keras, and make the model with it"
            )
        return (
            "The cell ran, but it called fit, evaluate or predict of no Keras model.\n"
            "Expected: a call such as model.fit(x, y).\nType: model.fit(x_train, y_train, epochs=5) in the cell"
        )

    def fit(self, model: Any, args: tuple, kwargs: dict) -> Any:
        """Prepare and run one `fit`."""
        self.calls += 1  # also where it is refused: the cell did call it
        keras_fit = self._keras["fit"]
        arguments = arguments_of(keras_fit, model, args, kwargs)
        # Before the data is read: of text, the layer that reads it is the thing to name.
        refuse_what_cannot_move(model, self.runtime, self._replicas, self._cuts)
        options = self._planned(model, arguments)
        request = read_fit(model, arguments)
        prepared = prepare(request, self.runtime, options, self._shuffle_seed())
        run = new_run(prepared, self.runtime)
        run.recipe = recipe_of(prepared, self.runtime, self.options, arguments)
        self.runs.append(run)
        self.on_run(run)
        if prepared.on_replicas:
            self._remember(model)
        view = self.make_view(run, request.verbose)
        with taking_numbers(model, self._kept):
            return run_fit(prepared, self.runtime, run, view, keras_fit)

    def _planned(self, model: Any, arguments: dict[str, Any]) -> FitOptions:
        """Return the options of a fit: with ``--plan``, what the TPU compiler's plan recommends is filled in."""
        if self.options.plan is None:
            return self.options
        from IPython import get_ipython

        from ..plans import planned_options

        return planned_options(model, arguments, self.runtime, self.options, get_ipython())

    def evaluate(self, model: Any, args: tuple, kwargs: dict) -> Any:
        """Run one `evaluate`, every row counted once."""
        keras_evaluate = self._keras["evaluate"]
        if kwargs.get("_use_cached_eval_dataset"):
            # Validation inside a fit: the feed is ours already.
            feed = model._eval_epoch_iterator.data_adapter.feed
            if feed.cut:
                return _no_figures(model)
            with self._built_for(model, feed):
                result = keras_evaluate(model, *args, **kwargs)
            return _no_figures(model) if feed.cut else result
        self.calls += 1
        arguments = arguments_of(keras_evaluate, model, args, kwargs)
        check_compiled(model, "evaluate")
        arguments.pop("kwargs", None)
        parts = arguments.pop("x"), arguments.pop("y"), arguments.pop("sample_weight")
        batch_size, steps = arguments.pop("batch_size"), arguments.pop("steps")
        source = self._read(model, batch_size, steps, parts)
        source, limit = bounded(source, steps, batch_size or own_batch_size(source, steps), "steps")
        size = self._size(model, source, batch_size)
        split = are_row_means(model)
        if not split:
            size = batch_size or own_batch_size(source)
            warn_of_shares(self.runtime, self._replicas, model, source.example)
        feed = evaluation_feed(source, size, self._replicas, limit, self._ahead, split)
        with self._on_replicas(model), self._built_for(model, feed), self._scaled(model, source):
            return self._run(keras_evaluate, model, feed, arguments)

    def predict(self, model: Any, args: tuple, kwargs: dict) -> Any:
        """Run one `predict`, the padding of the last batch cut off again."""
        self.calls += 1
        keras_predict = self._keras["predict"]
        arguments = arguments_of(keras_predict, model, args, kwargs)
        batch_size, steps = arguments.pop("batch_size"), arguments.pop("steps")
        source = self._read(model, batch_size, steps, (arguments.pop("x"), None, None))
        source, limit = bounded(source, steps, batch_size or own_batch_size(source, steps), "steps")
        size = self._size(model, source, batch_size)
        feed, given = prediction_feed(source, size, self._replicas, limit, self._ahead)
        try:
            with self._on_replicas(model):
                outputs = self._run(keras_predict, model, feed, arguments)
        except ValueError as error:
            if "concatenation axis" in str(error) and any(feed.free_axes):
                raise _of_many_lengths() from None
            raise
        return keras.tree.map_structure(lambda output: true_rows(output, given), outputs)

    def _read(self, model: Any, batch_size: int | None, steps: int | None, parts: tuple[Any, Any, Any]) -> Source:
        refuse_text_in_the_step(model, self.runtime, self._replicas, self._cuts)
        source = read_data(*parts, model=model, batch_size=batch_size, ahead=False, most=steps)
        if "static-shapes" not in self.options.no:
            source = in_buckets(source, only_proven=True)
        return source if "dtypes" in self.options.no else device_dtypes(source)[0]

    def _size(self, model: Any, source: Source, batch_size: int | None) -> int:
        """Return the global batch size of an evaluation or a prediction."""
        fixed = fixed_batch_size(model)
        if fixed is not None:
            return fixed
        own = batch_size or own_batch_size(source)
        replicas = self._replicas
        size = max(round_up(own, replicas), ROWS_PER_REPLICA * replicas if batch_size is None else 0)
        return evaluation_batch_size(source, size, replicas)

    def _run(self, keras_method: Callable[..., Any], model: Any, feed: Feed, arguments: dict[str, Any]) -> Any:
        """Call Keras' own evaluate or predict; an interrupt waits for the step, an error of the data is raised as it is."""
        control = Control()
        feed.interrupted = control.interrupted
        feed.look_ahead = self.runtime.engine.step_takes_batches and feed.batches is None
        callbacks = [*flat_callbacks(arguments.pop("callbacks") or ()), Guard(control, feed)]
        try:
            with control.catching_interrupts(), expecting_the_end():
                result = keras_method(model, FeedAdapter(feed), callbacks=callbacks, **_keras_verbose(arguments))
                control.check()
                return result
        except BaseException as error:
            if feed.error is not None and feed.error is not error:
                raise feed.error from None
            raise

    @contextmanager
    def _on_replicas(self, model: Any) -> Iterator[None]:
        if self._moves:
            self._remember(model)
            self.runtime.engine.place(model)
        wanted = (
            self.runtime.engine.jit_compile if self._replicas > 1 and "jit-compile" not in self.options.no else None
        )
        jit = None if bool(model.jit_compile) == wanted else wanted
        held = held_attribute(model, "jit_compile", jit)
        with taking_numbers(model, self._kept), held, self.runtime.engine.calling(model, self._moves):
            yield

    def _scaled(self, model: Any, source: Source) -> AbstractContextManager[None]:
        """Divide by the replicas what the rule ``loss-scaling`` divides in a fit, so that an evaluation shows the loss."""
        if self.runtime.engine.name != "tensorflow" or self._replicas == 1 or "loss-scaling" in self.options.no:
            return nullcontext()
        wanted = what_is_scaled(model, self._replicas, source.example)
        if not (wanted.names or wanted.compute_loss):
            return nullcontext()
        return scaled_losses(model, wanted.compute_loss, EVALUATION)

    def _built_for(self, model: Any, feed: Feed) -> AbstractContextManager[Any]:
        """Build the model ahead where Keras could not from the first batch."""
        first = feed.example if feed.stream else next(feed.open(), None)
        if first is None or not (feed.stream or rows_of(first) % self._replicas):
            return nullcontext()
        return self.runtime.engine.building_from(model, first)

    @property
    def _moves(self) -> bool:
        return "scope" not in self.options.no

    @property
    def _cuts(self) -> bool:
        return "text-layers" not in self.options.no

    @property
    def _replicas(self) -> int:
        return self.runtime.replicas if self._moves else 1

    def _remember(self, model: Any) -> None:
        if not any(model is known for known in self._models):
            self._models.append(model)

    @property
    def _ahead(self) -> int:
        return 0 if self.runtime.engine.step_takes_batches else PREFETCH

    def _shuffle_seed(self) -> int:
        return self.options.seed if self.options.seed is not None else shuffle_seed()


def _method(interceptor: Interceptor, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    ours = getattr(interceptor, name)
    thread = threading.current_thread()

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if threading.current_thread() is not thread:
            interceptor.calls_elsewhere = True
            return original(self, *args, **kwargs)
        return ours(self, args, kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = original.__doc__
    return method


def _of_many_lengths() -> DataError:
    return DataError(
        "What the model gives for these batches differs in length from batch to batch, and predict joins it to one array.",
        expected="rows of one length in all batches; or each batch predicted for itself.",
        type_next="[model.predict(batch) for batch in batches]",
    )


def _keras_verbose(arguments: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if not (key == "verbose" and value is None)}


def _no_figures(model: Any) -> dict[str, float]:
    """Return NaN for every metric: callbacks find the names they ask for, and none passes for a figure."""
    return dict.fromkeys(model.get_metrics_result(), float("nan"))
