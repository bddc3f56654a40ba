"""The traps that a model, its data, its callbacks and the runtime can set together, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding import SEVERITIES, Finding
from ..prepared import PreparedFit
from .base import Trap
from .counted_steps import CountedSteps
from .custom_train_step import CustomTrainStep
from .data import DATA_TRAPS
from .logits import LogitsWithoutSoftmax
from .rate_callbacks import RateCallbacks
from .replica_statistics import ReplicaStatistics
from .seldom_batches import SeldomBatches

if TYPE_CHECKING:
    from ...backends.base import Runtime

TRAPS: tuple[Trap, ...] = (
    CustomTrainStep(),
    CountedSteps(),
    RateCallbacks(),
    SeldomBatches(),
    ReplicaStatistics(),
    LogitsWithoutSoftmax(),
    *DATA_TRAPS,
)


def find_traps(prepared: PreparedFit, runtime: Runtime) -> tuple[Finding, ...]:
    """Return what every trap finds in a prepared fit, the gravest first.

    Args:
        prepared: The fit after all rules.
        runtime: The connected runtime.
    """
    found = [finding for trap in TRAPS for finding in trap.look(prepared, runtime)]
    return tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.severity)))
