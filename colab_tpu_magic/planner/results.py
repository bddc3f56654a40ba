"""What the TPU compiler answers: a compiled step with its figures, or a refusal with its reason."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

KINDS = ("out-of-memory", "time", "memory", "killed", "crash", "unsupported", "no-compiler", "platform")
"""Every kind of refusal."""
LASTING = ("out-of-memory", "unsupported")
"""The kinds that the same compiler would answer again."""


class Cost(NamedTuple):
    """One instruction that the compiler estimated.

    Attributes:
        op_name: Where it comes from: ``"jit(train_step)/jvp(conv_a)/conv_general_dilated"``, or ``""``.
        opcode: ``"fusion"``, ``"copy"``, …
        cycles: Estimated cycles of one run of it. A step runs it ``trips`` times.
        trips: How often a step runs it; a branch counts for a part.
        moved: Bytes that one run of it reads from HBM and writes to it, padding included.
        product: Whether it multiplies matrices, which the MXU does.
    """

    op_name: str
    opcode: str
    cycles: int
    trips: float
    moved: int
    product: bool = False


class Unestimated(NamedTuple):
    """Instructions that the compiler gives no cycles for.

    Attributes:
        opcode: ``"all-reduce"``, ``"select-and-scatter"``, ``"custom-call Sort"``, …
        op_name: Where they come from, or ``""``.
        runs: How often a step runs one of them.
        bytes: Bytes of all their results in a step, without the padding of the layout.
        moved: Bytes that all of them read from HBM and write to it in a step, padding included.
    """

    opcode: str
    op_name: str
    runs: float
    bytes: int
    moved: float = 0.0


@dataclass(frozen=True)
class Memory:
    """Bytes on one device.

    Attributes:
        argument: Weights, optimizer's values, batch: what the step is given.
        output: What it gives back.
        alias: The part of the output that lies in the arguments' memory.
        temp: Activations, gradients and other values in between, at most.
        code: The program.
        peak: At most at once, arguments included and the program not.
    """

    argument: int
    output: int
    alias: int
    temp: int
    code: int
    peak: int


@dataclass(frozen=True)
class Compiled:
    """A step that the compiler took, with its estimates. Nothing here was measured on a TPU.

    Attributes:
        memory: Bytes on one device.
        flops: The compiler's own count for one device; the body of a loop is counted once.
        costs: The instructions with an estimate, most cycles first.
        unestimated: Those without one, most bytes first.
        as_text_failed: Whether the compiled module could not be read, so that there are no costs.
        text_error: Why it could not be read, or ``""``.
        libtpu: Version of libtpu: ``"0.0.42.1"``.
        jax: Version of jax that was used with it.
        seconds: Time it took to compile.
        notes: Sentences about how the figures were made: branches, loops.
    """

    memory: Memory
    flops: float
    costs: tuple[Cost, ...]
    unestimated: tuple[Unestimated, ...]
    as_text_failed: bool
    text_error: str
    libtpu: str
    jax: str
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def cycles(self) -> float:
        """Estimated cycles of one step on one device, without the unestimated instructions."""
        return sum(cost.cycles * cost.trips for cost in self.costs)

    def to_json(self) -> str:
        """Return it as JSON text."""
        return json.dumps({"type": "compiled", **asdict(self)})


@dataclass(frozen=True)
class Refused:
    """A step that was not compiled.

    Attributes:
        kind: One of `KINDS`.
        message: What happened and what to do, for a person.
        needed_bytes: Memory that one device would need, where it is known, else 0.
        allowed_bytes: Memory that one device, or the compiler, may use, where it is known, else 0.
    """

    kind: str
    message: str
    needed_bytes: int = 0
    allowed_bytes: int = 0

    @property
    def lasting(self) -> bool:
        """Whether the same compiler would answer the same again."""
        return self.kind in LASTING

    def to_json(self) -> str:
        """Return it as JSON text."""
        return json.dumps({"type": "refused", **asdict(self)})


def from_json(text: str) -> Compiled | Refused:
    """Return the answer that JSON text holds.

    Raises:
        ValueError: When it is not one.

    Example:
        >>> from_json(Refused("time", "Took too long.").to_json()).kind
        'time'
    """
    read: Any = json.loads(text)
    try:
        kind = read.pop("type")
        if kind == "refused":
            return Refused(**read)
        if kind == "compiled":
            return Compiled(
                **{
                    **read,
                    "memory": Memory(**read["memory"]),
                    "costs": tuple(Cost(*row) for row in read["costs"]),
                    "unestimated": tuple(Unestimated(*row) for row in read["unestimated"]),
                    "notes": tuple(read["notes"]),
                }
            )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"This is not an answer of the compiler: {error}") from error
    raise ValueError(f"This is not an answer of the compiler: type {kind!r}.")
