"""Work out the whole numbers that a compiled module fixes: where a loop begins, ends and how it counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .hlo_text import Computation, Instruction, Module

DEEP = 60
"""Steps from one instruction to the next after which a number counts as unknown."""

# A value is a whole number, a tuple of values, or None where the text does not fix it.
Value = Any
Given = dict[int, Value]

_PASSED_ON = frozenset({"copy", "bitcast", "convert", "reshape", "broadcast", "optimization-barrier", "copy-done"})
_SUMS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
}
_MIRRORED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE", "EQ": "EQ"}


class Values:
    """The numbers of one module.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        self._module = module

    def of(self, computation: Computation, name: str, given: Given, depth: int = 0) -> Value:
        """Return the value of an instruction, None where it is not fixed.

        Args:
            computation: The computation it is in.
            name: The instruction's name.
            given: Values of the computation's parameters, by number.
            depth: Steps that led here.
        """
        one = computation.by_name.get(name)
        if one is None or depth > DEEP:
            return None
        if one.opcode == "constant":
            text = one.operands.strip()
            return int(text) if text.lstrip("-").isdigit() and one.shape.startswith(("s", "u")) else None
        if one.opcode == "parameter":
            return given.get(int(one.operands))
        if one.opcode == "get-tuple-element":
            whole = self.of(computation, one.operand_names[0], given, depth + 1)
            index = int(one.attribute("index"))
            return whole[index] if isinstance(whole, tuple) and index < len(whole) else None
        if one.opcode == "tuple":
            return tuple(self.of(computation, operand, given, depth + 1) for operand in one.operand_names)
        if one.opcode in _PASSED_ON and one.operand_names:
            return self.of(computation, one.operand_names[0], given, depth + 1)
        if one.opcode in _SUMS:
            first, second = (self.of(computation, operand, given, depth + 1) for operand in one.operand_names[:2])
            known = isinstance(first, int) and isinstance(second, int)
            return _SUMS[one.opcode](first, second) if known else None
        if one.opcode == "while":
            return self._after(computation, one, given)
        if one.opcode in ("fusion", "call"):
            inner = self._inner(one)
            if inner is not None:
                taken = self._taken(computation, one, given, depth)
                return self.of(inner, inner.root.name, taken, depth + 1)
        return None

    def trips(self, computation: Computation, loop: Instruction, given: Given) -> int | None:
        """Return how often a ``while`` runs its body, None where the text does not fix it.

        Args:
            computation: The computation that the loop is in.
            loop: The ``while`` instruction.
            given: Values of the computation's parameters.
        """
        start = self.start(computation, loop, given)
        condition, body = self._module[loop.called("condition")[0]], self._module[loop.called("body")[0]]
        sides = self._compare(condition, start)
        after = self.of(body, body.root.name, {0: start})
        if sides is None or not isinstance(start, tuple) or not isinstance(after, tuple) or len(after) != len(start):
            return None
        later = self.of(body, body.root.name, {0: after})
        for index, (old, new) in enumerate(zip(start, after)):
            # The counter is what the body changes, and what changes one side of the comparison.
            if not (isinstance(old, int) and isinstance(new, int) and old != new):
                continue
            moved = self._compare(condition, (*start[:index], new, *start[index + 1 :]))
            if moved is None or later[index] is None or later[index] - new != new - old:
                continue
            left, right, direction = sides
            if moved[0] != left and moved[1] == right:
                return _count(left, right, moved[0] - left, direction)
            if moved[1] != right and moved[0] == left:
                return _count(right, left, moved[1] - right, _MIRRORED.get(direction, ""))
        return None

    def start(self, computation: Computation, loop: Instruction, given: Given) -> Value:
        """Return what a loop begins with, as far as the text fixes it."""
        return self.of(computation, loop.operand_names[0], given)

    def kept(self, loop: Instruction, start: Value) -> Value:
        """Return the loop's values that its body leaves as they are, the others None."""
        if not isinstance(start, tuple):
            return None
        body = self._module[loop.called("body")[0]]
        after = self.of(body, body.root.name, {0: start})
        if not isinstance(after, tuple):
            return None
        return tuple(old if old == new else None for old, new in zip(start, after))

    def _after(self, computation: Computation, loop: Instruction, given: Given) -> Value:
        """Return what a loop ends with: TensorFlow's backward loop runs as often as the forward one has counted."""
        start, trips = self.start(computation, loop, given), self.trips(computation, loop, given)
        if trips is None or not isinstance(start, tuple):
            return None
        body = self._module[loop.called("body")[0]]
        once = self.of(body, body.root.name, {0: start})
        if not isinstance(once, tuple) or len(once) != len(start):
            return None
        twice = self.of(body, body.root.name, {0: once})
        if not isinstance(twice, tuple):
            return None
        return tuple(_run_on(*values, trips) for values in zip(start, once, twice))

    def _compare(self, condition: Computation, values: Value) -> tuple[int, int, str] | None:
        """Return both sides of the comparison that a loop's condition makes of its values, and which it is."""
        found = self._find(condition, condition.root, {0: values})
        if found is None:
            return None
        inside, compare, taken = found
        left, right = (self.of(inside, name, taken) for name in compare.operand_names[:2])
        if not isinstance(left, int) or not isinstance(right, int):
            return None
        return left, right, compare.attribute("direction")

    def _find(
        self, computation: Computation, one: Instruction, given: Given, depth: int = 0
    ) -> tuple[Computation, Instruction, Given] | None:
        if depth > DEEP:
            return None
        if one.opcode == "compare":
            return computation, one, given
        if one.opcode in ("fusion", "call") and (inner := self._inner(one)) is not None:
            return self._find(inner, inner.root, self._taken(computation, one, given, depth), depth + 1)
        if one.opcode in _PASSED_ON and one.operand_names:
            return self._find(computation, computation.by_name[one.operand_names[0]], given, depth + 1)
        return None

    def _inner(self, one: Instruction) -> Computation | None:
        names = one.called("calls") or one.called("to_apply")
        return self._module[names[0]] if names else None

    def _taken(self, computation: Computation, one: Instruction, given: Given, depth: int) -> Given:
        return {
            number: self.of(computation, operand, given, depth + 1) for number, operand in enumerate(one.operand_names)
        }


def _run_on(start: Value, once: Value, twice: Value, trips: int) -> Value:
    """Return a loop's value after all runs, from those after none, one and two; None where it takes no even steps."""
    if start == once == twice:
        return start
    if not all(isinstance(value, int) for value in (start, once, twice)) or twice - once != once - start:
        return None
    return start + trips * (once - start)


def _count(start: int, bound: int, step: int, direction: str) -> int | None:
    """Return how often a loop runs that begins at ``start`` and goes on while its counter compares so.

    Example:
        >>> _count(0, 200, 1, "LT"), _count(0, 9, 2, "LE"), _count(199, -1, -1, "GT")
        (200, 5, 200)
    """
    if step == 0:
        return None
    distance = bound - start
    if direction == "NE":
        return distance // step if distance % step == 0 and distance // step >= 0 else None
    if (direction in ("LT", "LE")) != (step > 0) or direction not in ("LT", "LE", "GT", "GE"):
        return None
    if direction in ("LE", "GE"):
        distance += 1 if step > 0 else -1
    return max(0, -(-distance // step))
