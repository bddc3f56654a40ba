"""What crosses from the lowering of a training step to its compilation: one module and what its arguments are."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from functools import cached_property
from math import prod

PARAMETER, OPTIMIZER, STATE, BATCH = "parameter", "optimizer", "state", "batch"


@dataclass(frozen=True)
class Argument:
    """One argument of the lowered step, in the order of the module's own.

    Attributes:
        name: The variable's path (``"net/conv_a/kernel"``), or the place in the batch (``"x"``, ``"y"``).
        role: ``"parameter"`` (trainable weights), ``"optimizer"`` (moments, the count of steps), ``"state"``
            (what is not trained: statistics, seeds, metrics) or ``"batch"``.
        shape: The whole shape, over all devices.
        dtype: ``"float32"``, ``"int32"``, ``"bool"`` and so on.
        sharded: Whether axis 0 is divided over the devices; what is not lies whole on each.
        donated: Whether an output takes its memory.
    """

    name: str
    role: str
    shape: tuple[int, ...]
    dtype: str
    sharded: bool = False
    donated: bool = False

    @property
    def bytes(self) -> int:
        """Bytes over all devices, each value once, without the compiler's padding."""
        bits = re.search(r"\d+", self.dtype)
        return prod(self.shape) * (1 if bits is None else max(1, int(bits.group()) // 8))


@dataclass(frozen=True)
class Lowered:
    """A training step as portable StableHLO, laid out for a number of devices.

    Attributes:
        artifact: The module in StableHLO's portable form, in a version that the pinned compiler reads.
        devices: Devices that the step is divided over.
        arguments: The module's arguments, in order.
        layers: Paths of the model's layers in the order of the model, as they stand in the names of operations.
        flops: Floating-point operations of all dot products and convolutions of one step over all devices; a loop
            counts as often as it runs.
        batch_size: Rows in the global batch.
        backend: ``"jax"`` or ``"tensorflow"``.
        precision: ``"float32"`` or ``"bfloat16"`` where it was asked for, ``""`` for the model's own.
        optimizer: The optimizer's name, as it stands in the names of operations.
        remarks: Sentences about what the lowered step leaves out or does otherwise than the user's fit.
    """

    artifact: bytes
    devices: int
    arguments: tuple[Argument, ...]
    layers: tuple[str, ...]
    flops: float
    batch_size: int = 0
    backend: str = ""
    precision: str = ""
    optimizer: str = ""
    remarks: tuple[str, ...] = ()

    def bytes_of(self, role: str) -> int:
        """Return the bytes of all arguments of one role, each value once however many devices hold it."""
        return sum(argument.bytes for argument in self.arguments if argument.role == role)

    def bytes_per_device(self, role: str) -> int:
        """Return the bytes of one role that one device holds, without the compiler's padding."""
        return sum(
            argument.bytes // (self.devices if argument.sharded else 1)
            for argument in self.arguments
            if argument.role == role
        )

    @cached_property
    def _digest(self) -> str:
        told = [self.devices, [asdict(argument) for argument in self.arguments], self.layers, self.flops]
        return hashlib.sha256(json.dumps(told).encode() + b"\n" + self.artifact).hexdigest()

    def digest(self) -> str:
        """Return the SHA-256 in hex of all that the compiler sees and what is told of it.

        Example:
            >>> len(Lowered(b"", 1, (), (), 0.0).digest())
            64
        """
        return self._digest
