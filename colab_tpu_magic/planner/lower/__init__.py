"""Lower the real training step of a compiled Keras model to portable StableHLO, from shapes alone.

What is lowered is ``model.train_step``: forward pass, loss, gradients, optimizer update, metrics, dropout seeds, weights
of classes and samples. No array of the batch's size is made. The model is exactly as before afterwards: what was not
built is built for the trace, and is not built again after it.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...errors import ModelError, OptionError
from ..module import Lowered

UNCOUNTED = "How often {} loops run is not known ahead: the FLOPs count each of them once."
PRECISIONS = (None, "float32", "bfloat16")


def lower(
    model: Any,
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    devices: int,
    batch_size: int,
    precision: str | None = None,
    kwargs: Mapping[str, Any] | None = None,
) -> Lowered:
    """Return one training step of a model, laid out for a number of devices.

    Args:
        model: A compiled Keras model, built or not.
        x: Whatever `fit` takes, or shapes alone (`keras.KerasTensor`), of which the first axis is the rows.
        y: Targets; None with a dataset.
        sample_weight: One weight per row, or None.
        devices: Devices that the batch is divided over.
        batch_size: Rows in the global batch.
        precision: ``"float32"`` or ``"bfloat16"``, as ``%%tpu_fit --precision`` sets it for a fit; None for the
            model's own.
        kwargs: Other arguments of the `fit` call; `class_weight` is of the step.

    Raises:
        ModelError: For a model that was never compiled, and for an operation that a TPU cannot run.
        DataError: For data that does not match the model, for text, and for missing targets.

    Example:
        lower(model, keras.KerasTensor((None, 28, 28, 1), "float32"), keras.KerasTensor((None,), "int32"),
              devices=8, batch_size=1024).flops
    """
    import keras

    from .batch import batch_specs, check_trainable
    from .failures import told
    from .portable import laid_out
    from .state import layer_paths, set_precision
    from .unchanged import unchanged

    check_trainable(model)
    if precision not in PRECISIONS:
        raise OptionError(f"There is no precision {precision!r}.", expected="float32 or bfloat16, or None.")
    backend = _backend(keras.backend.backend())
    whole = all(one.built for one in (model, model.optimizer) if one is not None)
    with unchanged(model), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        specs = batch_specs(model, x, y, sample_weight, batch_size, devices, (kwargs or {}).get("class_weight"))
        set_precision(model, precision)
        with told(model, specs), backend.thrown_away(model):
            backend.build(model, specs)
            set_precision(model, precision)  # also of layers that were only made now
            step = backend.trace(model, specs)
        layers, optimizer = layer_paths(model), getattr(model.optimizer, "name", "")
    if not whole:  # what was made for the trace is in cycles of references, which may wait long for Python
        gc.collect()
    artifact, flops, uncounted = laid_out(step.text, step.arguments, step.aliases, devices)
    arguments = tuple(replace(one, donated=place in step.aliases) for place, one in enumerate(step.arguments))
    return Lowered(
        artifact=artifact,
        devices=devices,
        arguments=arguments,
        layers=layers,
        flops=flops,
        batch_size=batch_size,
        backend=keras.backend.backend(),
        precision=precision or "",
        optimizer=optimizer,
        remarks=(*step.remarks, *([UNCOUNTED.format(uncounted)] if uncounted else [])),
    )


def _backend(name: str) -> Any:
    if name == "jax":
        from . import jax

        return jax
    if name == "tensorflow":
        from . import tensorflow

        return tensorflow
    raise ModelError(
        f"Keras runs on {name}, and a plan is made on JAX or TensorFlow.", type_next="%tpu_connect --backend jax"
    )
