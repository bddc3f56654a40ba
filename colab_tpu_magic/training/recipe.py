"""What a run has to remember so that it can be written out as a plain Keras script; none of the user's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files.passes import passes_beneath
from ..rewrite.buckets import Buckets
from ..rewrite.forms.callables import call_arguments
from ..rewrite.forms.tf_data import FORM as TF_DATA
from ..rewrite.forms.tf_rows import SINGLE
from ..rewrite.prepared import PreparedFit
from ..rewrite.row_means import are_row_means
from ..rewrite.sources import ArraySource, Source, StreamSource
from .call_site import CallSite, call_site
from .orders import is_looked_at, orders_beneath

if TYPE_CHECKING:
    from ..backends.base import Runtime
    from ..options import FitOptions

ARRAYS = "arrays"
ARRAY, TREE, OTHER, UNKNOWN = "array", "tree", "other", "unknown"


@dataclass(frozen=True)
class DataFacts:
    """What is known of training or validation data.

    Attributes:
        form: ``"arrays"``, or what the stream is: ``"tf.data.Dataset"``.
        rows: Rows of arrays, None for a stream.
        batch_size: Rows in the first batch of a stream, 0 for arrays.
        dtypes: Target dtype of each flattened leaf, empty for one that stays; no entries when all stay.
        flat: Whether every part is one array, so that ``(x, y)`` can be written out.
        infinite: Whether a pass over the stream never ends.
        once: Whether only one pass can be made.
        batches: Batches in a pass over the stream, or None.
        single: Whether the stream gave single rows, which were batched.
        longest: Of each flattened array, the axes that were padded to a few lengths, with the longest that was
            known of each; no entries when no length varied.
        fill: What each flattened array was padded with; empty when its lengths cannot vary.
        masked: Whether padding was proven to change no figure.
        dense: Whether its tensors were sparse or ragged.
        call: How the function that made it was called: ``"()"``; empty when the data itself was given.
        parts: How many of x, y and sample_weight there are.
        orders: Identities of the shuffles beneath it that come in a new order each time it is begun.
        picked: Whether some of such a shuffle's rows are picked afterwards, so that the rows differ and not the order.
    """

    form: str
    rows: int | None
    batch_size: int = 0
    dtypes: tuple[str, ...] = ()
    flat: bool = True
    infinite: bool = False
    once: bool = False
    batches: int | None = None
    single: bool = False
    longest: tuple[tuple[tuple[int, int], ...], ...] = ()
    fill: tuple[float, ...] = ()
    dense: bool = False
    masked: bool = False
    call: str = ""
    parts: int = 2
    orders: tuple[int, ...] = ()
    picked: bool = False


@dataclass(frozen=True)
class Recipe:
    """How a run was made.

    Attributes:
        site: Where `fit` was called.
        execution: Number of the cell, as in ``In [3]``; 0 outside of IPython.
        backend: ``"jax"`` or ``"tensorflow"``.
        kind: ``"tpu"``, ``"gpu"``, ``"cpu"`` or ``"simulated"``.
        replicas: Devices that ran the step.
        slice_name: The slice, ``"v2-8"``, or empty.
        seed: What ``--seed`` said, or None.
        shuffle_seed: What the shuffle began with.
        shuffle: Whether rows came in a new order each pass.
        epochs: Last epoch.
        own_epochs: Last epoch that the call asked for.
        batch_size: Global batch size, rows.
        steps_per_epoch: Steps in an epoch, or None.
        full_batches: Whether every batch had `batch_size` rows.
        data: The training data.
        kinds: What x, y and sample_weight were given as: ``"array"``, ``"tree"``, ``"other"`` (NumPy makes an array
            of it), ``"unknown"``, a text that makes arrays of what stands in the place of ``{}``, or empty.
        validation: The validation data, or None.
        validation_kinds: The same of the parts of the validation data, where they are arrays.
        validation_split_at: The first row that was split off for validation, or None.
        validation_batch_size: Rows in a batch of the validation.
        validation_in_any_batches: Whether the figures do not depend on how the rows are batched.
        learning_rate: What the optimizer got, or None.
        precision: ``"float32"`` or ``"bfloat16"``, or None.
        last_layers: Places in ``model.layers`` of those that stayed float32.
        jit_compile: What the model got, or None.
        steps_per_execution: What the model got, or None.
        averaged_statistics: Whether the replicas' moving statistics were averaged each epoch.
        alike: Whether batches had rows of alike length, in an order of ours.
        text: Name of the layer that made numbers of text in the data pipeline, or empty.
        passes: Seed and number of the first pass over the files that the training data was made from, each pair
            once; empty when no files were read in an order of ours.
        looked_at: Whether plain Keras takes a batch to build the model before it trains.
        callbacks: What `callbacks` was given as: ``"list"`` (flat), ``"other"``, or empty for none.
        validates_on_the_same: Whether the validation reads the same files from the same object.
    """

    site: CallSite
    execution: int
    backend: str
    kind: str
    replicas: int
    slice_name: str
    seed: int | None
    shuffle_seed: int
    shuffle: bool
    epochs: int
    own_epochs: int
    batch_size: int
    steps_per_epoch: int | None
    full_batches: bool
    data: DataFacts
    kinds: tuple[str, str, str] = (ARRAY, ARRAY, "")
    validation: DataFacts | None = None
    validation_kinds: tuple[str, ...] = ()
    validation_split_at: int | None = None
    validation_batch_size: int = 0
    validation_in_any_batches: bool = True
    learning_rate: float | None = None
    precision: str | None = None
    last_layers: tuple[int, ...] = ()
    jit_compile: bool | None = None
    steps_per_execution: int | None = None
    averaged_statistics: bool = False
    alike: bool = False
    text: str = ""
    passes: tuple[tuple[int, int], ...] = ()
    validates_on_the_same: bool = False
    callbacks: str = "other"
    looked_at: bool = True


def recipe_of(prepared: PreparedFit, runtime: Runtime, options: FitOptions, arguments: dict[str, Any]) -> Recipe:
    """Return what to remember of a fit that is about to run.

    Args:
        prepared: The fit.
        runtime: What trains it.
        options: The options of the cell.
        arguments: The arguments of the user's call, by name.
    """
    request, model = prepared.request, prepared.request.model
    has_split = arguments["validation_data"] is None and bool(arguments["validation_split"])
    validation = prepared.validation
    row_means = validation is None or are_row_means(model)
    size = request.validation_batch_size
    if validation is not None and row_means and not request.validation_steps:
        size = -(-prepared.batch_size // prepared.replicas) * prepared.replicas
    engine = runtime.engine
    return Recipe(
        site=call_site(),
        execution=_execution(),
        backend=runtime.backend,
        kind=runtime.kind,
        replicas=prepared.replicas,
        slice_name=runtime.slice.name if runtime.slice is not None else "",
        seed=options.seed,
        shuffle_seed=prepared.seed,
        shuffle=request.shuffle,
        epochs=prepared.epochs,
        own_epochs=request.epochs,
        batch_size=prepared.batch_size,
        steps_per_epoch=prepared.steps_per_epoch,
        full_batches=prepared.full_batches,
        data=_facts(prepared.data, arguments["x"], arguments["batch_size"]),
        kinds=tuple(_kind(arguments[name]) for name in ("x", "y", "sample_weight")),  # type: ignore[arg-type]
        validation=None
        if validation is None
        else _facts(
            validation, None if has_split else arguments["validation_data"], arguments["validation_batch_size"]
        ),
        validation_kinds=_kinds(validation, arguments["validation_data"]),
        validation_split_at=prepared.data.rows if has_split and isinstance(prepared.data, ArraySource) else None,
        validation_batch_size=size,
        validation_in_any_batches=row_means,
        learning_rate=prepared.learning_rate,
        precision=prepared.precision,
        last_layers=_places(model) if prepared.precision is not None else (),
        jit_compile=prepared.jit_compile,
        steps_per_execution=prepared.steps_per_execution,
        averaged_statistics=engine.settles
        and prepared.replicas > 1
        and (not model.built or any(layer.non_trainable_variables for layer in model.layers)),
        alike=isinstance(prepared.data, ArraySource) and prepared.data.alike is not None,
        text=prepared.text.head.layers[0].name if prepared.text is not None else "",
        passes=_passes(prepared.data, arguments["x"]),
        validates_on_the_same=bool(
            set(passes_beneath(arguments["x"])) & set(passes_beneath(arguments["validation_data"]))
        ),
        callbacks=_form_of_callbacks(arguments["callbacks"]),
        looked_at=is_looked_at(model, runtime.backend, prepared.replicas),
    )


def _kinds(source: Source | None, given: Any) -> tuple[str, ...]:
    """Return what the parts of validation data were given as, where they are arrays and no function made them."""
    if not isinstance(source, ArraySource) or not isinstance(given, list | tuple):
        return ()
    return tuple(_kind(part) for part in given)


def _form_of_callbacks(given: Any) -> str:
    if not isinstance(given, list | tuple):
        return "" if given is None else "other"
    return "other" if any(isinstance(one, list | tuple) for one in given) else "list"


def _passes(source: Source, given: Any) -> tuple[tuple[int, int], ...]:
    """Return seed and number of the first pass over the files beneath some training data."""
    # The pass that was looked into goes on as the first of the training, unless batches of another size are made anew.
    looked = isinstance(source, StreamSource) and source.sized is None
    return tuple(dict.fromkeys((one.seed, one.begun - looked) for one in passes_beneath(given)))


def _facts(source: Source, given: Any, batch_size: int | None) -> DataFacts:
    call = _call(given, batch_size)
    orders = orders_beneath(given)
    dtypes = tuple("" if dtype is None else str(dtype) for dtype in source.dtypes)
    if isinstance(source, ArraySource):
        return DataFacts(
            ARRAYS, source.rows, dtypes=dtypes, flat=_is_flat(source.tree), call=call, parts=len(source.tree)
        )
    return DataFacts(
        source.form,
        None,
        source.batch_size,
        dtypes,
        _is_flat(source.example),
        source.infinite,
        source.once,
        source.batches,
        SINGLE in source.done,
        _longest(source),
        () if source.lengths is None else source.lengths.values,
        _is_dense(source, given),
        source.lengths is not None and bool(source.lengths.padding.proof),
        call,
        len(source.example),
        tuple(orders),
        any(orders.values()),
    )


def _call(given: Any, batch_size: int | None) -> str:
    """Return how a function of data was called, empty for data."""
    arguments = call_arguments(given, batch_size)
    return "" if arguments is None else f"({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


def _longest(source: StreamSource) -> tuple[tuple[tuple[int, int], ...], ...]:
    lengths = source.lengths
    if lengths is None or not (lengths.vary or SINGLE in source.done):
        return ()
    longest = iter(Buckets.of(lengths).longest)
    return tuple(tuple((axis, next(longest)) for axis in axes) for axes in lengths.axes)


def _is_dense(source: StreamSource, given: Any) -> bool:
    """Return whether a dataset's tensors had to be made dense; of one that a function made its shapes tell."""
    spec = getattr(given, "element_spec", None)
    if spec is None:
        return source.form == TF_DATA and (
            source.lengths is not None or any(done.before == "sparse tensors" for done in source.done)
        )
    import tensorflow as tf

    kinds = tf.RaggedTensorSpec | tf.SparseTensorSpec
    return any(isinstance(one, kinds) for one in tf.nest.flatten(spec))


def _is_flat(tree: Any) -> bool:
    return all(isinstance(part, np.ndarray) for part in tree)


def _kind(part: Any) -> str:
    """Return what x, y or sample_weight was given as; of another than an array, what makes one of it."""
    if part is None:
        return ""
    if isinstance(part, np.ndarray):
        return ARRAY
    if isinstance(part, dict | list | tuple):
        import keras

        leaves = keras.tree.flatten(part)
        if leaves and all(isinstance(leaf, np.ndarray) for leaf in leaves):
            return TREE
        if leaves and not any(np.isscalar(leaf) for leaf in leaves):
            made = {_made_of(leaf) for leaf in leaves}
            return "keras.tree.map_structure(np.asarray, {})" if made <= {ARRAY, OTHER} else UNKNOWN
        return OTHER
    return _made_of(part)


def _made_of(leaf: Any) -> str:
    """Return what makes an array of one thing that is no container, as in `Recipe.kinds`."""
    if isinstance(leaf, np.ndarray):
        return ARRAY
    convertible = hasattr(leaf, "__array__") or hasattr(leaf, "numpy")
    kind, family = type(leaf).__name__, type(leaf).__module__.split(".")[0]
    if family == "pandas":
        if leaf.ndim == 1:
            return "{}.cat.codes.to_numpy()[:, None]" if str(leaf.dtype) == "category" else "{}.to_numpy()[:, None]"
        plain = all(isinstance(dtype, np.dtype) and dtype.kind in "fiu" for dtype in leaf.dtypes)
        if plain:
            return "{}.to_numpy()"
        numbers = "lambda one: one.cat.codes if one.dtype == 'category' else one"
        return f'{{}}.apply({numbers}).to_numpy("float32")'
    if kind == "RaggedTensor":
        return "{}.to_tensor().numpy()"
    if kind == "SparseTensor":
        return "tf.sparse.to_dense({}).numpy()"
    if hasattr(leaf, "toarray") or hasattr(leaf, "todense"):
        return "{}.toarray()" if hasattr(leaf, "toarray") else "np.asarray({}.todense())"
    if family == "torch":
        return "{}.detach().cpu().numpy()"
    return OTHER if convertible else UNKNOWN


def _places(model: Any) -> tuple[int, ...]:
    from .settings import last_layers

    last = last_layers(model)
    return tuple(place for place, layer in enumerate(model.layers) if any(layer is one for one in last))


def _execution() -> int:
    from IPython import get_ipython

    shell = get_ipython()
    # Not the shell's execution_count, which some versions raise before a cell runs and others after it.
    return len(shell.history_manager.input_hist_raw) - 1 if shell is not None else 0
