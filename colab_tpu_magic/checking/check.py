"""Say what training a model on data would run into; nothing is trained and nothing is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import TpuMagicError
from ..hardware.environment import detect_environment
from ..options import FitOptions
from ..rewrite.finding import Finding
from .environment_traps import find_in_environment
from .report import REFUSED, UNSEEN, Report, merged

if TYPE_CHECKING:
    from ..backends.base import Runtime

# What these say of labels and batches that nobody has seen would be said of the zeros that stand in for them.
NEED_BATCHES = frozenset({"labels-one-hot", "labels-out-of-range", "indivisible-batch", "rate-kept"})


def check_call(model: Any, arguments: dict[str, Any], runtime: Runtime, options: FitOptions) -> Report:
    """Return what one `fit` would run into.

    Args:
        model: The Keras model.
        arguments: The call's arguments by name.
        runtime: The connected runtime.
        options: How the fit would be prepared.
    """
    from ..rewrite.rules import prepare
    from ..rewrite.traps.data.not_a_number import MOST_BYTES_OF_A_CHECK, NotANumber
    from .data_traps import find_in_data, has_known_lengths
    from .fit_together import DoesNotFitTogether
    from .look import UNREAD, UNREAD_TEXT, read_without_touching

    found = [*find_in_data(arguments["x"], model), *find_in_data(arguments["validation_data"], model)]
    try:
        request, unseen = read_without_touching(model, arguments, runtime.replicas)
        if request is None:
            if unseen == [UNREAD_TEXT]:
                said = f"The fit could not be looked at: {UNREAD_TEXT}."
                return Report(merged([*found, Finding(UNSEEN, "note", said, "model.fit(x, y) below %%tpu_fit")]))
            return Report(merged([*found, _nothing_seen(unseen)]))
        prepared = prepare(request, runtime, options, seed=0)
    except TpuMagicError as error:
        # A dataset that has told its own trap would be refused for the same reason.
        return Report(merged(found or [refusal(error)]))
    guessed = any(sentence.startswith(f"{UNREAD}the training data") for sentence in unseen)
    told = [one for one in prepared.findings if not (guessed and one.trap in NEED_BATCHES)]
    # A check takes its time: the whole of the arrays where a fit looks at a share of them.
    searched = NotANumber().search(prepared, MOST_BYTES_OF_A_CHECK)
    told = [*searched, *(one for one in told if one.trap != NotANumber.id)]
    if not any(one.trap.startswith("labels-") for one in told):  # these say more exactly what a loss does not take
        together = DoesNotFitTogether()
        known = not guessed and has_known_lengths(arguments["x"], model)
        told += together.look(prepared, runtime) if known else together.names(model)
    return Report(merged([*found, *told]), prepared.changes, tuple(unseen))


def check_model(
    model: Any, x: Any, y: Any, runtime: Runtime, options: FitOptions, keras_arguments: dict[str, Any]
) -> Report:
    """Return what ``model.fit(x, y, ...)`` would run into here, the machine included.

    Args:
        model: A compiled Keras model.
        x: Inputs.
        y: Targets, with arrays only.
        runtime: The connected runtime.
        options: How the fit would be prepared.
        keras_arguments: Everything else that ``model.fit`` takes.

    Raises:
        TypeError: For arguments that ``model.fit`` does not have.
    """
    import keras

    from ..rewrite.request import arguments_of
    from .guard import same_random_numbers

    around = find_in_environment(detect_environment(), runtime)
    if not isinstance(model, keras.Model):
        said = f"{type(model).__name__} is no Keras 3 model."
        return Report(merged([*around, Finding(REFUSED, "error", said, "model = keras.Sequential([...])")]))
    arguments = arguments_of(_keras_fit(), model, (x, y), keras_arguments)
    with same_random_numbers():
        report = check_call(model, arguments, runtime, options)
    return Report(merged([*around, *report.findings]), report.changes, report.not_looked_at)


def _keras_fit() -> Any:
    """Return Keras' own fit, also inside a cell in which ours stands in its place."""
    import keras

    from ..training import intercept

    return keras.Model.fit if intercept._active is None else intercept._active._keras["fit"]


def _nothing_seen(unseen: list[str]) -> Finding:
    said = f"The fit could not be looked at: {'; '.join(unseen)}, and the model's own shapes are not known before it is built."
    return Finding(UNSEEN, "note", said, "model.build((None, 20))")


def refusal(error: TpuMagicError) -> Finding:
    """Return an error of ours as a finding: what would stop the fit."""
    expected = f" Expected: {error.expected}" if error.expected else ""
    return Finding(REFUSED, "error", f"{error.what}{expected}", error.type_next)
