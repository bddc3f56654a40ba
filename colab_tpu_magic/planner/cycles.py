"""Add up what the compiler estimates: each instruction of a step, as often as the step runs it."""

from __future__ import annotations

from dataclasses import dataclass, field

from .hlo_text import Computation, HloTextError, Instruction, Module, parse
from .hlo_traffic import has_product, moved_bytes
from .hlo_values import Given, Values
from .results import Cost, Unestimated

SCALAR_BYTES = 32
"""Results up to this size are a few numbers: worked out by the scalar unit, and not listed when unestimated."""

# Names and places in memory, or the end of what a start already stands for: nothing is done.
_FREE = frozenset(
    "parameter constant tuple get-tuple-element bitcast after-all add-dependency partition-id replica-id"
    " optimization-barrier domain async-update".split()
)
# Numbers of 64 bits are kept as two of 32: cut and put together.
_HALVES = "X64"
_COPIES = frozenset({"copy", "copy-start", "copy-done", "bitcast", "slice-start", "slice-done"})
_COLLECTIVES = (
    "all-reduce",
    "all-gather",
    "all-to-all",
    "reduce-scatter",
    "collective-permute",
    "collective-broadcast",
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
    without: dict[tuple[str, str], tuple[float, int, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def cycles(self) -> float:
        return sum(cost.cycles * cost.trips for cost in self.costs)

    def take(self, other: _Tally) -> None:
        self.costs += other.costs
        for (opcode, op_name), figures in other.without.items():
            self.lacks(opcode, op_name, *figures)
        self.notes += other.notes

    def lacks(self, opcode: str, op_name: str, count: float, size: int, moved: float) -> None:
        had = self.without.get((opcode, op_name), (0.0, 0, 0.0))
        self.without[opcode, op_name] = (had[0] + count, had[1] + size, had[2] + moved)


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
    tally = _Walk(module).all_of(_Place(module[module.entry]))
    return StepCosts(
        tuple(sorted(tally.costs, key=lambda cost: -cost.cycles * cost.trips)),
        tuple(
            Unestimated(opcode, op_name, *figures)
            for (opcode, op_name), figures in sorted(tally.without.items(), key=lambda item: -item[1][1])
        ),
        tuple(dict.fromkeys(tally.notes)),
    )


@dataclass(frozen=True)
class _Place:
    """A computation, and how the step comes to it.

    Attributes:
        computation: The computation.
        times: How often a step runs it.
        given: Values of its parameters, as far as they are known.
        origin: The origin of what calls it: what tells none in it is taken to come from there.
    """

    computation: Computation
    times: float = 1.0
    given: Given = field(default_factory=dict)
    origin: str = ""


class _Walk:
    def __init__(self, module: Module) -> None:
        self._module = module
        self._values = Values(module)

    def all_of(self, place: _Place) -> _Tally:
        tally = _Tally()
        for one in place.computation.instructions:
            if one.opcode == "while":
                tally.take(self._loop(place, one))
            elif one.opcode == "conditional":
                tally.take(self._branches(place, one))
            elif one.opcode in ("call", "async-start"):
                tally.take(self._call(place, one))
            else:
                self._single(place, one, tally)
        return tally

    def _single(self, place: _Place, one: Instruction, tally: _Tally) -> None:
        inner = self._inner(one)
        origin = self._origin(place, one)
        # What a fusion sends to other devices is not in its estimate.
        sent = [part for part in inner.instructions if _is_collective(part)] if inner else []
        for part in sent:
            tally.lacks(part.opcode.removesuffix("-start"), origin, place.times, int(part.bytes * place.times), 0.0)
        if one.cycles is not None:
            moved = moved_bytes(self._module, place.computation, one)
            product = has_product(self._module, one)
            tally.costs.append(Cost(origin, one.opcode, one.cycles, place.times, moved, product))
            return
        target = one.attribute("custom_call_target") if one.opcode == "custom-call" else ""
        if sent or one.opcode in _FREE or one.opcode.endswith("-done") or target in _FREE_CALLS:
            return
        name = one.opcode
        if _is_collective(one):
            name = one.opcode.removesuffix("-start")
        elif one.bytes <= SCALAR_BYTES and (target.startswith(_HALVES) or not (target or inner)):
            return
        elif target or inner:
            name = f"{one.opcode} {self._last_opcode(inner) if inner else target}"
        traffic = moved_bytes(self._module, place.computation, one) * place.times
        tally.lacks(name, origin, place.times, int(_written(place.computation, one) * place.times), traffic)

    def _loop(self, place: _Place, one: Instruction) -> _Tally:
        start = self._values.start(place.computation, one, place.given)
        trips = self._values.trips(place.computation, one, place.given)
        inner = self.all_of(
            _Place(
                self._module[one.called("body")[0]],
                place.times * (1 if trips is None else trips),
                {0: self._values.kept(one, start)},
                one.op_name or place.origin,
            )
        )
        if trips is None:
            inner.notes.insert(0, f"How often loop {_named(one)} runs is known on the TPU only: counted once.")
        return inner

    def _branches(self, place: _Place, one: Instruction) -> _Tally:
        names = one.called("branch_computations") or (
            *one.called("true_computation"),
            *one.called("false_computation"),
        )
        if not names:
            raise HloTextError(f"conditional {one.name} has no branches")
        # The first operand chooses; each of the others is the argument of one branch.
        arguments = one.operand_names[1:]
        tallies = []
        for name, argument in zip(names, arguments):
            given = {0: self._values.of(place.computation, argument, place.given)}
            tallies.append(self.all_of(_Place(self._module[name], place.times, given, one.op_name or place.origin)))
        most = max(tallies, key=lambda tally: (tally.cycles, len(tally.without)), default=_Tally())
        most.notes.insert(0, f"Of the {len(names)} branches of {_named(one)}, the one with the most cycles counts.")
        return most

    def _call(self, place: _Place, one: Instruction) -> _Tally:
        names = one.called("to_apply") or one.called("calls")
        if not names:
            raise HloTextError(f"{one.opcode} {one.name} names no computation")
        taken = {
            number: self._values.of(place.computation, operand, place.given)
            for number, operand in enumerate(one.operand_names)
        }
        return self.all_of(_Place(self._module[names[0]], place.times, taken, one.op_name or place.origin))

    def _origin(self, place: _Place, one: Instruction) -> str:
        """Return where an instruction comes from.

        Of a fusion that does not tell, where its last part does; of a copy, where what it copies does; of
        another, where the loop, branch or call that it is in comes from, or what uses it first.
        """
        if one.op_name:
            return one.op_name
        if (inner := self._inner(one)) is not None:
            within = next((part.op_name for part in reversed(inner.instructions) if part.op_name), "")
            if within:
                return within
        if one.opcode in _COPIES and one.operand_names:
            source = place.computation.by_name.get(one.operand_names[0])
            if source is not None and source.opcode not in ("parameter", "get-tuple-element"):
                return self._origin(place, source)
        return place.origin or _origin_of_use(place.computation, one)

    def _inner(self, one: Instruction) -> Computation | None:
        if one.opcode != "fusion":
            return None
        names = one.called("calls")
        if not names:
            raise HloTextError(f"fusion {one.name} names no computation")
        return self._module[names[0]]

    def _last_opcode(self, computation: Computation) -> str:
        root = computation.root
        inner = self._inner(root)
        return self._last_opcode(inner) if inner else root.opcode


def _named(one: Instruction) -> str:
    return f"{one.name} ({one.op_name})" if one.op_name else one.name


def _origin_of_use(computation: Computation, one: Instruction, steps: int = 3) -> str:
    """Return where the first use of an instruction comes from: zeros that a loop fills belong to the loop."""
    for user in computation.users.get(one.name, ()):
        found = user.op_name or (_origin_of_use(computation, user, steps - 1) if steps else "")
        if found:
            return found
    return ""


def _is_collective(one: Instruction) -> bool:
    return one.opcode.startswith(_COLLECTIVES) and not one.opcode.endswith("-done")


def _written(computation: Computation, one: Instruction) -> int:
    """Return the bytes that an instruction writes: of an update in place, those of the update."""
    if one.opcode == "dynamic-update-slice" and len(one.operand_names) > 1:
        update = computation.by_name.get(one.operand_names[1])
        return update.bytes if update else one.bytes
    return one.bytes
