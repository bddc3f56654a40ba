"""Read what a plan is asked about, by the same rules as ``%%tpu_fit``: the shapes of a batch, the batch size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..backends.base import TPU, Runtime
from ..errors import DataError, TpuMagicError
from ..options import FitOptions
from ..rewrite.model_parts import fixed_batch_size
from ..rewrite.prepared import FitRequest, PreparedFit
from ..rewrite.request import own_batch_size
from ..rewrite.rules.batch_size import BatchSize
from ..rewrite.rules.dense_arrays import DenseArrays
from ..rewrite.rules.dtypes import Dtypes
from ..rewrite.rules.static_shapes import StaticShapes
from ..rewrite.rules.text_layers import TextLayers
from ..rewrite.sources import ArraySource, Source, StreamSource
from .lower.batch import SHAPES_ALONE, check_trainable
from .targets import Target

OF_THE_STEP = (TextLayers(), DenseArrays(), Dtypes(), BatchSize(), StaticShapes())
"""The rules of a fit that change what arrives at the step."""


@dataclass(frozen=True)
class Asked:
    """A fit, as far as its step goes.

    Attributes:
        model: The user's model.
        parts: ``(x, y, sample_weight)`` as shapes alone, of any number of rows; None for what there is not.
        rows: Rows in an epoch, or None when unknown.
        batch_size: The user's own, rows.
        fixed: The batch size that the model was made for, or None when any will do.
        request: The fit as it was read; None where only shapes were given.
        passed_on: What the lowering gets of the call besides.
        remarks: Sentences about what was not read.
    """

    model: Any
    parts: tuple[Any, Any, Any]
    rows: int | None
    batch_size: int
    fixed: int | None = None
    request: FitRequest | None = None
    passed_on: Mapping[str, Any] | None = None
    remarks: tuple[str, ...] = ()

    def chosen(self, devices: int) -> int:
        """Return the batch size that ``%%tpu_fit`` would choose on so many devices."""
        from ..rewrite.rules.batch_size import auto_batch_size

        if self.fixed is not None:
            return self.fixed
        user = self.batch_size if self.rows is None else min(self.batch_size, self.rows)
        return auto_batch_size(user, self.rows, devices)

    def prepared(self, batch_size: int, target: Target) -> PreparedFit | None:
        """Return the fit as the rules of the step would have it on a target; None where only shapes were given."""
        return None if self.request is None else _ruled(self.request, target, batch_size)


def read(model: Any, arguments: Mapping[str, Any], target: Target) -> Asked:
    """Return what a plan is asked about.

    Arrays are read as they are; of a dataset its first batch is, or only its shapes where they tell all.

    Args:
        model: A compiled Keras model.
        arguments: Those of the `fit` call, by name.
        target: The first target.

    Raises:
        DataError: For data that cannot be used, and for what can be read only once.
        ModelError: For a model that was never compiled.
    """
    check_trainable(model)
    fixed = fixed_batch_size(model)
    if _has_shapes_alone(arguments["x"]):
        parts = (arguments["x"], arguments["y"], arguments["sample_weight"])
        own = arguments["batch_size"] or 32
        passed = {"class_weight": arguments["class_weight"]} if arguments["class_weight"] else None
        return Asked(model, parts, None, fixed or int(own), fixed, passed_on=passed)
    data, remarks = _read_data(model, arguments)
    batch_size = arguments["batch_size"] if isinstance(data, ArraySource) else None
    if isinstance(data, ArraySource) and arguments["validation_split"]:
        data = data.part(0, max(1, int(data.rows * (1 - float(arguments["validation_split"])))))
    steps = arguments["steps_per_epoch"]
    request = FitRequest(
        model=model,
        data=data,
        validation=None,
        batch_size=int(batch_size or own_batch_size(data, steps)),
        validation_batch_size=0,
        epochs=int(arguments["epochs"] or 1),
        steps_per_epoch=steps,
        shuffle=bool(arguments["shuffle"]),
    )
    ruled = _ruled(request, target, "auto")
    return Asked(
        model, _shapes(ruled.data), request.rows_per_epoch, request.batch_size, fixed, request, remarks=remarks
    )


def _has_shapes_alone(x: Any) -> bool:
    import keras

    leaves = keras.tree.flatten(x) if x is not None else []
    return bool(leaves) and all(type(leaf).__name__ in SHAPES_ALONE for leaf in leaves)


def _read_data(model: Any, arguments: Mapping[str, Any]) -> tuple[Source, tuple[str, ...]]:
    from ..checking.data_traps import element_specs, is_dataset
    from ..checking.look import read_without_touching
    from ..rewrite.streams import read_data
    from ..rewrite.text_pipeline import text_pipeline

    x = arguments["x"]
    if hasattr(x, "__next__"):
        raise DataError(
            f"A {type(x).__name__} can be read only once, and a plan would take its first batch.",
            expected="arrays, a dataset, or shapes alone.",
            type_next="%tpu_plan model x y   with x = keras.KerasTensor((None, 28, 28, 1), 'float32')",
        )
    if is_dataset(x) and text_pipeline(model) is None and _all_known(element_specs(x)):
        request, _ = read_without_touching(model, {**arguments, "epochs": 1, "validation_data": None}, 1)
        if request is not None and isinstance(request.data, StreamSource):
            return _counted(request.data, x), (f"Of the {request.data.form} only the shapes were read.",)
    data = read_data(
        x,
        arguments["y"],
        arguments["sample_weight"],
        arguments["class_weight"],
        False,
        arguments["batch_size"],
        model,
        ahead=False,
        most=0,
    )
    told = () if isinstance(data, ArraySource) else (f"Of the {data.form} the first batch was read.",)
    return data, told


def _all_known(specs: Any) -> bool:
    return all(
        "Tensor" in type(one).__name__ and one.shape.rank and None not in one.shape.as_list()[1:] for one in specs
    )


def _counted(data: Source, dataset: Any) -> Source:
    """Return the stand-in of a tf.data.Dataset with the batches it says it has."""
    if not isinstance(data, StreamSource) or data.batches is not None:
        return data
    count = int(dataset.cardinality())
    return data if count < 0 else replace(data, batches=count)


def _ruled(request: FitRequest, target: Target, batch_size: int | str) -> PreparedFit:
    """Apply the rules of the step to a fit, as on a runtime of the target's devices."""
    runtime: Any = _stand_in(target)
    options = FitOptions(batch_size=batch_size)
    prepared = PreparedFit(request, target.devices, request.data, None, request.batch_size, request.epochs)
    for rule in OF_THE_STEP:
        prepared = rule.apply(prepared, runtime, options)
    return prepared


def _stand_in(target: Target) -> Runtime:
    """Return a runtime of a target's devices, without any engine: the rules of the step ask for none."""
    import keras

    from ..hardware.environment import detect_environment
    from ..hardware.slices import parse_slice

    engine: Any = None
    backend = keras.backend.backend()
    return Runtime(backend, TPU, target.devices, parse_slice(target.name), detect_environment(), engine)


def _shapes(source: Source) -> tuple[Any, Any, Any]:
    """Return one batch's shapes in the dtypes that arrive at the step, lengths padded as they are for a fit."""
    import keras

    if isinstance(source, ArraySource):
        tree, dtypes = source.tree, source.dtypes
    else:
        tree, dtypes = next(iter(source.padded(iter([source.example])))), source.dtypes
    leaves = keras.tree.flatten(tree)
    specs: list[Any] = []
    for leaf, dtype in zip(leaves, [*dtypes, *[None] * len(leaves)], strict=False):
        if leaf is None:
            specs.append(None)
            continue
        name = str(leaf.dtype if dtype is None else dtype)
        name = keras.config.floatx() if name == "float64" else name
        specs.append(keras.KerasTensor((None, *map(int, leaf.shape[1:])), name))
    packed = keras.tree.pack_sequence_as(tree, specs)
    return (*packed, None, None)[:3]


def refusal_of(error: BaseException) -> str:
    """Return an error of ours in one sentence or two, for a row."""
    if isinstance(error, TpuMagicError):
        return f"{error.what} Expected: {error.expected}" if error.expected else error.what
    return f"{type(error).__name__}: {error}"
