"""Add up what the compiler estimates: each instruction of a step, as often as the step runs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .compiler.results import Cost, Unestimated
from .hlo_text import Computation, HloTextError, Instruction, Module, parse
from .hlo_values import Given, Values

SCALAR_BYTES = 8
"""Results up to this size are single numbers: worked out by the scalar unit, and not listed when unestimated."""

# Names and places in memory, or the end of what a start already stands for: nothing is done.
_FREE = frozenset(
    "parameter constant tuple get-tuple-element bitcast after-all add-dependency partition-id replica-id"
    " optimization-barrier domain async-update".split()
)
# Custom calls that only name memory or tell the compiler something.
_FREE_CALLS = frozenset({"AllocateBuffer", "ConcatBitcast", "AssumeGatherIndicesInBound", "Sharding"})


@dataclass(frozen=True)
class StepCosts:
    """What a step costs, as the compiled text tells it.

    Attributes:
        costs: Instructions with an estimate, most cycles first.
        unestimated: Kinds of instruction without one, most bytes first.
        notes: Sentences about branches and loops whose runs the text does not tell.
    """

    costs: tuple[Cost, ...]
    unestimated: tuple[Unestimated, ...]
    notes: tuple[str, ...]

    @property
    def cycles(self) -> float:
        """Cycles of one step."""
        return sum(cost.cycles * cost.trips for cost in self.costs)


@dataclass
class _Tally:
    costs: list[Cost] = field(default_factory=list)
    without: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def cycles(self) -> float:
        return sum(cost.cycles * cost.trips for cost in self.costs)

    def take(self, other: _Tally) -> None:
        self.costs += other.costs
        for (opcode, op_name), (count, size) in other.without.items():
            self.lacks(opcode, op_name, count, size)
        self.notes += other.notes

    def lacks(self, opcode: str, op_name: str, count: float, size: int) -> None:
        had = self.without.get((opcode, op_name), (0.0, 0))
        self.without[opcode, op_name] = (had[0] + count, had[1] + size)


def step_costs(text: str) -> StepCosts:
    """Return what a compiled step costs.

    The entry computation is walked, and what it calls. A fusion counts whole, with its own estimate. A loop's
    body counts as often as the loop runs; the condition, a comparison of numbers, is left out. Of a
    conditional's branches the one with the most cycles counts.

    Args:
        text: The compiled module as text.

    Raises:
        HloTextError: When it has a form that is not known.
    """
    module = parse(text)
    tally = _Walk(module).computation(module[module.entry], 1.0, {})
    return StepCosts(
        tuple(sorted(tally.costs, key=lambda cost: -cost.cycles * cost.trips)),
        tuple(
            Unestimated(opcode, op_name, count, size)
            for (opcode, op_name), (count, size) in sorted(tally.without.items(), key=lambda item: -item[1][1])
        ),
        tuple(dict.fromkeys(tally.notes)),
    )


class _Walk:
    def __init__(self, module: Module) -> None:
        self._module = module
        self._values = Values(module)

    def computation(self, computation: Computation, times: float, given: Given) -> _Tally:
        tally = _Tally()
        for one in computation.instructions:
            if one.opcode == "while":
                tally.take(self._loop(computation, one, times, given))
            elif one.opcode == "conditional":
                tally.take(self._branches(computation, one, times, given))
            elif one.opcode in ("call", "async-start"):
                tally.take(self._call(computation, one, times, given))
            else:
                self._single(computation, one, times, tally)
        return tally

    def _single(self, computation: Computation, one: Instruction, times: float, tally: _Tally) -> None:
        if one.cycles is not None:
            tally.costs.append(Cost(self._op_name(one), one.opcode, one.cycles, times, one.bytes))
            return
        target = one.attribute("custom_call_target") if one.opcode == "custom-call" else ""
        if one.opcode in _FREE or one.opcode.endswith("-done") or target in _FREE_CALLS:
            return
        if one.bytes <= SCALAR_BYTES and not target and one.opcode != "fusion":
            if not one.opcode.startswith(("all-", "collective-", "reduce-scatter")):
                return
        name = f"custom-call {target}" if target else one.opcode.removesuffix("-start")
        tally.lacks(name, self._op_name(one), times, int(_moved(computation, one) * times))

    def _loop(self, computation: Computation, one: Instruction, times: float, given: Given) -> _Tally:
        start = self._values.start(computation, one, given)
        trips = self._values.trips(computation, one, given)
        inner = self.computation(
            self._module[one.called("body")[0]],
            times * (1 if trips is None else trips),
            {0: self._values.kept(one, start)},
        )
        if trips is None:
            where = f" ({one.op_name})" if one.op_name else ""
            inner.notes.insert(0, f"How often loop {one.name}{where} runs is known on the TPU only: counted once.")
        return inner

    def _branches(self, computation: Computation, one: Instruction, times: float, given: Given) -> _Tally:
        names = one.called("branch_computations") or (
            *one.called("true_computation"),
            *one.called("false_computation"),
        )
        if not names:
            raise HloTextError(f"conditional {one.name} has no branches")
        # The first operand chooses; each of the others is the argument of one branch.
        arguments = one.operand_names[1:]
        tallies = []
        for number, name in enumerate(names):
            argument = self._values.of(computation, arguments[number], given) if number < len(arguments) else None
            tallies.append(self.computation(self._module[name], times, {0: argument}))
        most = max(tallies, key=lambda tally: (tally.cycles, len(tally.without)))
        where = f" ({one.op_name})" if one.op_name else ""
        most.notes.insert(0, f"Of the {len(names)} branches of {one.name}{where}, the one with the most cycles counts.")
        return most

    def _call(self, computation: Computation, one: Instruction, times: float, given: Given) -> _Tally:
        names = one.called("to_apply") or one.called("calls")
        if not names:
            raise HloTextError(f"{one.opcode} {one.name} names no computation")
        taken = {
            number: self._values.of(computation, operand, given) for number, operand in enumerate(one.operand_names)
        }
        return self.computation(self._module[names[0]], times, taken)

    def _op_name(self, one: Instruction) -> str:
        """Return where an instruction comes from; of a fusion that does not tell, where its last part does."""
        if one.op_name or one.opcode != "fusion":
            return one.op_name
        inner: Iterable[Instruction] = reversed(self._module[one.called("calls")[0]].instructions)
        return next((part.op_name for part in inner if part.op_name), "")


def _moved(computation: Computation, one: Instruction) -> int:
    """Return the bytes that an instruction writes: of an update in place, those of the update."""
    if one.opcode == "dynamic-update-slice" and len(one.operand_names) > 1:
        update = computation.by_name.get(one.operand_names[1])
        return update.bytes if update else one.bytes
    return one.bytes
