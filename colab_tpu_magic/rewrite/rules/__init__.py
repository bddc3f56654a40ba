"""The rules of TPU-ready form, in the order in which they are applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import OptionError, is_near, nearest
from ..model_parts import refuse_what_cannot_move
from ..prepared import FitRequest, PreparedFit
from ..traps import find_traps
from .base import Rule
from .batch_normalization import BatchNormalizationRule
from .batch_size import BatchSize
from .dense_arrays import DenseArrays
from .dtypes import Dtypes
from .input_pipeline import InputPipeline
from .jit_compile import JitCompile
from .learning_rate import LearningRate
from .loss_scaling import LossScaling
from .normalise_on_device import NormaliseOnDevice
from .precision import Precision
from .scope import Scope
from .static_shapes import StaticShapes
from .steps_per_execution import StepsPerExecution
from .text_layers import TextLayers

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions

RULES: tuple[Rule, ...] = (
    Scope(),
    JitCompile(),
    TextLayers(),
    DenseArrays(),
    Dtypes(),
    BatchSize(),
    StaticShapes(),
    LearningRate(),
    LossScaling(),
    BatchNormalizationRule(),
    Precision(),
    NormaliseOnDevice(),
    InputPipeline(),
    StepsPerExecution(),
)

# Switches of what happens to a cell before any call is captured.
OF_THE_CELL = ("migrate",)


def check_switches(options: FitOptions) -> None:
    """Raise OptionError when ``--no`` names a rule that does not exist."""
    known = [*(rule.id for rule in RULES), *OF_THE_CELL]
    for name in options.no:
        if name not in known:
            near = nearest(name, known) if is_near(name, known) else ""
            raise OptionError(
                f"There is no rule {name!r}.",
                expected=f"one of {', '.join(known)}.",
                type_next=f"--no {near}" if near else "",
            )


def prepare(request: FitRequest, runtime: Runtime, options: FitOptions, seed: int) -> PreparedFit:
    """Apply every rule that is on to a captured call, then look for traps.

    Raises:
        DataError: When a rule finds data that cannot be used.
        ModelError: When a rule finds a model that cannot be used.
        OptionError: When an option cannot hold for this call.
    """
    check_switches(options)
    replicas = 1 if "scope" in options.no else runtime.replicas
    refuse_what_cannot_move(request.model, runtime, replicas, TextLayers.id not in options.no)
    prepared = PreparedFit(
        request=request,
        replicas=runtime.replicas,
        data=request.data,
        validation=request.validation,
        batch_size=request.batch_size,
        epochs=options.epochs or request.epochs,
        seed=seed,
    )
    for rule in RULES:
        if rule.id in options.no:
            prepared = rule.skip(prepared)
        else:
            prepared = rule.apply(prepared, runtime, options)
    return prepared.but(findings=find_traps(prepared, runtime))
