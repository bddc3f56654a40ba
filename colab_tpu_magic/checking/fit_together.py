"""Trap ``does-not-fit-together``: data, model and loss whose shapes or names do not match.

Private to Keras: ``keras.src.backend.compute_output_spec``, ``LossFunctionWrapper``, the names of metrics and
``_compile_metrics._user_metrics``. Tried on keras 3.10.0, 3.13.2 and 3.15.1.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

from ..errors import nearest
from ..rewrite.finding import Finding
from ..rewrite.prepared import PreparedFit
from ..rewrite.sources import ArraySource
from ..rewrite.traps.base import Trap
from ..rewrite.traps.data.targets import loss_name

if TYPE_CHECKING:
    from ..backends.base import Runtime

SPARSE_LOSSES = ("sparse_categorical_crossentropy",)
SHORT_METRICS = ("accuracy", "acc", "crossentropy", "ce")
MOST_CHARACTERS = 160


class DoesNotFitTogether(Trap):
    """The shapes of the data, the model's input, its output and the loss have to match, and their names to exist.

    Keras finds out in the first training step, and says so in the words of a broadcast deep inside it. A check goes
    through the model and the loss with shapes only: nothing is computed, no weight is made.
    """

    id = "does-not-fit-together"
    title = "Data, model and loss that do not match"
    source = "keras.io/api/losses, keras.io/api/models/model_training_apis (2026)"

    def look(self, prepared: PreparedFit, runtime: Runtime) -> list[Finding]:
        """Look up the names, then send the shapes of one batch through the model and its loss."""
        return self.names(prepared.request.model) or self.shapes(prepared)

    def names(self, model: Any) -> list[Finding]:
        """Return what is found in the names of losses and metrics."""
        import keras

        found = []
        for name in keras.tree.flatten(getattr(model, "loss", None)):
            if isinstance(name, str) and not _is_loss(name):
                meant = _nearest(name, [known for known in dir(keras.losses) if known.islower() and "_" in known])
                found.append(self.finding("error", f"There is no loss {name!r}.", f'loss="{meant}"'))
        for name in _metric_names(model):
            if not _is_metric(name):
                meant = _nearest(name, [*_known_metrics(), *SHORT_METRICS])
                found.append(self.finding("error", f"There is no metric {name!r}.", f'metrics=["{meant}"]'))
        return found

    def shapes(self, prepared: PreparedFit) -> list[Finding]:
        """Return what is found on the way of one batch's shapes through the model and its loss."""
        import keras

        model, data = prepared.request.model, prepared.request.data
        if not _is_traceable(model):
            return []
        parts = data.tree if isinstance(data, ArraySource) else data.example
        rows = prepared.batch_size
        given = _specs(parts[0], rows)
        if given is None:
            return []
        rest = None if prepared.text is None else prepared.text.rest
        try:
            output = _trace(rest or model, given)
        except Exception as error:  # whatever a layer raises for shapes that it does not take
            return [self._input(model, rest, given, error)]
        loss = _simple_loss(model)
        targets = _specs(parts[1], rows) if len(parts) > 1 else None
        if loss is None or not isinstance(targets, keras.KerasTensor) or not isinstance(output, keras.KerasTensor):
            return []
        try:
            _trace(loss, targets, output)
        except Exception as error:  # whatever a loss raises for shapes that it cannot compare
            return [self._loss(model, targets.shape, output.shape, error)]
        return []

    def _input(self, model: Any, rest: Any, given: Any, error: Exception) -> Finding:
        import keras

        have = [tuple(one.shape)[1:] for one in keras.tree.flatten(given)]
        inputs = model.inputs if rest is None else rest.inputs
        want = [tuple(one.shape)[1:] for one in inputs]
        message = f"x has rows of shape {_text(have)}, and the model takes {_text(want)}: {_first_line(error)}"
        if len(have) == len(want) == 1 and have != want:
            return self.finding("error", message, f"keras.Input({have[0]})")
        return self.finding("error", message, "model.summary()")

    def _loss(self, model: Any, targets: Any, output: Any, error: Exception) -> Finding:
        name = loss_name(model)
        given, wanted = tuple(output)[1:], tuple(targets)[1:]
        sparse = name in SPARSE_LOSSES
        expects = "one class number for each row of outputs" if sparse else "both of the same shape"
        message = (
            f"For each row the model gives {given} and y has {wanted or 'one number'}; {name} expects {expects}: "
            f"{_first_line(error)}"
        )
        if len(given) > max(len(wanted), 1):
            return self.finding("error", message, "keras.layers.Flatten(),  # before the last Dense layer")
        units = wanted[-1] if wanted else 1
        return self.finding("error", message, "y.shape" if sparse else f"keras.layers.Dense({units}, ...)")


def _is_traceable(model: Any) -> bool:
    """Return whether a model is built of layers alone, so that a look at its shapes runs no code that keeps them."""
    import keras

    own = type(model) is keras.Sequential or (
        type(model).__name__ == "Functional" and type(model).__module__.startswith("keras.")
    )
    return own and not model.run_eagerly and bool(getattr(model, "built", False) and getattr(model, "inputs", None))


def _simple_loss(model: Any) -> Any:
    """Return the loss of a model with one as Keras applies it, None where there are several, none, or the user's own."""
    import keras
    from keras.src.losses.losses import LossFunctionWrapper

    loss = model.loss
    if loss is None or isinstance(loss, dict | list | tuple):
        return None
    loss = keras.losses.get(loss)
    of = loss if not isinstance(loss, keras.losses.Loss) else type(loss)
    if not str(getattr(of, "__module__", "")).startswith("keras."):
        return None
    return loss if isinstance(loss, keras.losses.Loss) else LossFunctionWrapper(loss)


def _trace(function: Any, *specs: Any) -> Any:
    """Return the shapes that a function gives; nothing is computed and no variable changes."""
    from keras.src import backend

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return backend.compute_output_spec(function, *specs)


def _specs(part: Any, rows: int) -> Any:
    """Return the shapes of one batch of a part of the data, None where it holds no arrays of numbers."""
    import keras

    leaves = keras.tree.flatten(part)
    if not leaves or any(getattr(getattr(leaf, "dtype", None), "kind", "O") not in "biuf" for leaf in leaves):
        return None

    def spec(leaf: Any) -> Any:
        dtype = keras.config.floatx() if leaf.dtype.kind == "f" else keras.backend.standardize_dtype(leaf.dtype)
        return keras.KerasTensor((rows, *leaf.shape[1:]), dtype=dtype)

    return keras.tree.map_structure(spec, part)


def _is_loss(name: str) -> bool:
    import keras

    try:
        keras.losses.get(name)
    except ValueError:
        return False
    return True


def _metric_names(model: Any) -> list[str]:
    import keras

    compiled = getattr(model, "_compile_metrics", None)
    groups = [getattr(compiled, name, None) for name in ("_user_metrics", "_user_weighted_metrics")]
    return [one for group in groups for one in keras.tree.flatten(group) if isinstance(one, str)]


def _known_metrics() -> list[str]:
    """Return the names under which Keras knows its metrics; none are made, for a metric makes variables."""
    try:
        from keras.src.metrics import ALL_OBJECTS_DICT
    except ImportError:
        return []
    return list(ALL_OBJECTS_DICT)


def _is_metric(name: str) -> bool:
    known = _known_metrics()
    return not known or name in known or name.lower() in SHORT_METRICS or _is_loss(name)


def _nearest(name: str, known: list[str]) -> str:
    return nearest(name, [one.replace("_", "-") for one in known]).replace("-", "_")


def _text(shapes: list[tuple[int | None, ...]]) -> str:
    return " and ".join(str(shape) for shape in shapes)


def _first_line(error: Exception) -> str:
    """Return the first line of a message that says something, without the colours that Keras puts in."""
    lines = [re.sub(r"\x1b\[\d*m", "", line).strip() for line in str(error).splitlines()]
    first = next(
        (line for line in lines if line and not line.startswith("Exception encountered")), type(error).__name__
    )
    return first if len(first) <= MOST_CHARACTERS else f"{first[:MOST_CHARACTERS]}…"
