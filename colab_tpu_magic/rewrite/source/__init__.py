"""Rewrites of old source, one file each, in the order in which they are applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .context import Context, context_of
from .result import MigratedSource, Refused, Rewrote
from .suspicion import looks_old

if TYPE_CHECKING:
    from .base import Rewrite

__all__ = ["Context", "MigratedSource", "Refused", "Rewrote", "context_of", "looks_old", "migrate_source", "rewrites"]


def rewrites() -> tuple[type[Rewrite], ...]:
    """Return all rewrites. They load libcst, so only where something old is suspected."""
    from .activations import Activations
    from .backend_calls import BackendCalls
    from .backend_lines import BackendLines
    from .batch_sizes import BatchSizes
    from .casts import Casts
    from .compat_import import CompatImport
    from .compile_arguments import CheckpointPeriods, CompileArguments, PlateauDeltas
    from .dataset_methods import DroppedRemainders, OneShotIterators
    from .generator_methods import GeneratorMethods, Predictions, SyncToCpu
    from .history_keys import HistoryKeys
    from .input_functions import InputFunctions
    from .keras_to_tpu_model import KerasToTpuModel
    from .mixed_precision import MixedPrecision
    from .moved_names import MovedNames
    from .numpy_aliases import NumpyAliases
    from .old_distutils import OldDistutils
    from .optimizer_arguments import OptimizerArguments
    from .python_2_names import Python2Names
    from .refused import RefusedNames
    from .session_devices import SessionDevices
    from .tpu_address import TpuAddress
    from .tpu_strategy import StrategyRun, TpuStrategy
    from .train_optimizers import TrainOptimizers
    from .weight_files import WeightFiles

    return (
        CompatImport,
        KerasToTpuModel,
        TpuStrategy,
        StrategyRun,
        SessionDevices,
        TpuAddress,
        TrainOptimizers,
        OptimizerArguments,
        CompileArguments,
        CheckpointPeriods,
        PlateauDeltas,
        HistoryKeys,
        Casts,
        GeneratorMethods,
        Predictions,
        SyncToCpu,
        InputFunctions,
        OneShotIterators,
        DroppedRemainders,
        WeightFiles,
        BackendLines,
        BackendCalls,
        MixedPrecision,
        NumpyAliases,
        OldDistutils,
        Python2Names,
        MovedNames,
        Activations,
        BatchSizes,
        RefusedNames,
    )


def migrate_source(text: str, context: Context | None = None) -> MigratedSource:
    """Return a text of TensorFlow 1.11 to 2.4 as one of today.

    Args:
        text: A cell or a module.
        context: What earlier cells tell.
    """
    from .engine import migrate_text

    return migrate_text(text, context or Context(), rewrites())
