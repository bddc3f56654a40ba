"""One row of a plan: what the compiler makes of one batch size in one precision on one target, and which row is best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

FITS, OUT_OF_MEMORY, REFUSED, PENDING = "fits", "out-of-memory", "refused", "pending"
STATUSES = (FITS, OUT_OF_MEMORY, REFUSED, PENDING)
"""Every status of a row."""

Range = tuple[float, float]
"""The lower and the upper end of a figure; the same number twice where nothing is left open."""


@dataclass(frozen=True)
class MemoryParts:
    """What one device's memory (HBM) is needed for at the worst moment, bytes on one device.

    The first four are what the step is given, counted from the shapes and scaled to the compiler's sum for them, which
    has the padding of its layouts in it; the rest is the compiler's.

    Attributes:
        parameters: Weights that are trained.
        optimizer: What the optimizer keeps: moments, counters.
        state: What is not trained: statistics of batch normalisation, seeds, metrics.
        batch: The rows of one step that this device gets.
        activations: Activations, gradients and other values in between.
        code: The program.
    """

    parameters: int
    optimizer: int
    state: int
    batch: int
    activations: int
    code: int

    @property
    def needed(self) -> int:
        """All of it."""
        return self.parameters + self.optimizer + self.state + self.batch + self.activations + self.code

    def parts(self) -> tuple[tuple[str, int], ...]:
        """Return each part's name and bytes, in the order in which they are drawn."""
        return (
            ("parameters", self.parameters),
            ("optimizer", self.optimizer),
            ("state", self.state),
            ("batch", self.batch),
            ("activations", self.activations),
            ("code", self.code),
        )


@dataclass(frozen=True)
class LayerShare:
    """What one Keras layer takes of a step's estimated cycles.

    Attributes:
        name: The layer's path below the model: ``"block4/conv_a"``.
        forward: Share of the step in the forward pass, 0 to 1.
        backward: Share of the step in its gradients, 0 to 1.
    """

    name: str
    forward: float
    backward: float

    @property
    def total(self) -> float:
        """Both together, 0 to 1."""
        return self.forward + self.backward


@dataclass(frozen=True)
class Row:
    """What the compiler makes of one batch size in one precision on one target.

    Attributes:
        target: The slice: ``"v5e-1"``.
        batch_size: Rows in the global batch, over all devices.
        precision: ``"float32"``, ``"bfloat16"``, or ``""`` for the model's own dtype policy.
        status: One of `STATUSES`.
        reason: Why it is refused or does not fit, in a sentence; ``""`` where it fits.
        devices: Devices that the batch is divided over.
        memory: What one device's memory is needed for; None where the compiler did not get so far.
        needed_bytes: Memory that one device needs, bytes; 0 where it is not known.
        allowed_bytes: Memory that the compiler allows on one device, bytes.
        step_seconds: Time of one step. The lower end is the compiler's estimate alone; the upper end adds the
            collectives (by `collective_model`) and, for other instructions without an estimate, the time that their
            bytes take to be read and written.
        examples_per_second: Rows a second over all devices, from the two ends of `step_seconds`, lower end first.
        device_seconds: The compiler's estimated cycles, divided by the clock.
        collective_seconds: Time of all-reduces and the like by the stated model; 0 on one device.
        collective_model: The model's formula, figures and source; ``""`` where nothing is sent.
        flops: Floating-point operations of all dot products and convolutions of one step over all devices; loops
            count as often as they run.
        mxu_utilisation: Part of the peak bfloat16 rate that these reach, at the lower end of `step_seconds`, 0 to 1.
        hbm_bytes_moved: Bytes that one device reads from HBM and writes to it in a step, padding included: of every
            instruction the operands and the results that lie there, by the layouts of the compiled text.
        full_memory_rate_seconds: What `device_seconds` would be if no instruction that multiplies no matrices took
            longer than its bytes at HBM's whole rate. The compiler lets memory give a sixth to a third of
            that (docs/plan-truth.md), so that a step of many such instructions is faster than it says.
        bound: What holds the step up: ``"MXU"``, ``"HBM"`` or ``"neither"``; ``""`` where it is not known. The MXU
            where it reaches half of its peak, else HBM where the bytes moved, at its whole rate, take half of
            `full_memory_rate_seconds` or more.
        layers: The layers' shares, most expensive first.
        optimizer_share: Share of the optimizer's update, 0 to 1.
        loss_share: Share of the loss, the metrics and what Keras does around the layers, 0 to 1.
        unnamed_share: Share of what no name tells the layer of, 0 to 1.
        unestimated: Instructions without an estimate: ``"197 all-reduce (50.1 MiB)"``.
        compile_seconds: Time that the compiler took; 0 for what came from the cache.
        cached: Whether the answer was kept from an earlier plan.
        probe: Whether it was compiled on the way to the largest batch, and not for the curve.
        notes: Sentences about how the figures were made, and what the lowered step leaves out.
    """

    target: str
    batch_size: int
    precision: str
    status: str
    reason: str = ""
    devices: int = 1
    memory: MemoryParts | None = None
    needed_bytes: int = 0
    allowed_bytes: int = 0
    step_seconds: Range = (0.0, 0.0)
    examples_per_second: Range = (0.0, 0.0)
    device_seconds: float = 0.0
    collective_seconds: float = 0.0
    collective_model: str = ""
    flops: float = 0.0
    mxu_utilisation: float = 0.0
    hbm_bytes_moved: float = 0.0
    full_memory_rate_seconds: float = 0.0
    bound: str = ""
    layers: tuple[LayerShare, ...] = ()
    optimizer_share: float = 0.0
    loss_share: float = 0.0
    unnamed_share: float = 0.0
    unestimated: tuple[str, ...] = ()
    compile_seconds: float = 0.0
    cached: bool = False
    probe: bool = False
    notes: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether the compiler took it."""
        return self.status == FITS

    @property
    def speed(self) -> float:
        """Examples per second to compare rows by: the lower end; 0 where there is no estimate."""
        return self.examples_per_second[0]


ENOUGH = 0.97
"""Of two rows whose rates differ by less than this, the one with the smaller batch is the better."""


def best_of(rows: Iterable[Row], most: int | None = None) -> Row | None:
    """Return the row that fits and has the highest rate; of those within 3 % of it the smallest batch, in the model's own precision.

    What was compiled on the way to the largest batch is taken only where nothing else fits.

    Args:
        rows: The rows to choose from.
        most: No larger batch is taken where a smaller one fits; None for any.

    Example:
        >>> best_of([]) is None
        True
    """
    fitting = [row for row in rows if row.fits and row.speed > 0]
    fitting = [row for row in fitting if not row.probe] or fitting
    if not fitting:
        return None
    allowed = [row for row in fitting if most is None or row.batch_size <= most]
    fitting = allowed or [row for row in fitting if row.batch_size == min(one.batch_size for one in fitting)]
    fastest = max(row.speed for row in fitting)
    # Another precision than the model's own has to earn its place, as a larger batch has.
    enough = [row for row in fitting if row.speed >= ENOUGH * fastest]
    return min(enough, key=lambda row: (row.batch_size, bool(row.precision), -row.speed))
