"""Find out how often a StableHLO loop runs, from its counter, its limit and its step.

JAX writes ``counter < limit`` into a loop's condition. TensorFlow calls a function there, compares two counters at
once, and lets the backward loop run as often as the forward loop's counter says.
"""

from __future__ import annotations

from math import ceil
from typing import Any

THROUGH = ("stablehlo.convert", "stablehlo.reshape", "stablehlo.broadcast_in_dim", "stablehlo.optimization_barrier")
TURNED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE"}


def trips_of(loop: Any, functions: dict[str, Any]) -> int | None:
    """Return how often the body of a loop runs, None where its condition is not that of a counted loop."""
    return _Trips(functions).of(loop)


class _Trips:
    """Follows values through loops and calls.

    Args:
        functions: The module's functions by name.
    """

    def __init__(self, functions: dict[str, Any]) -> None:
        self._functions = functions
        self._given: list[tuple[Any, Any]] = []

    def of(self, loop: Any) -> int | None:
        allowed = self._allowed(_returned(loop.regions[0], 0), loop)
        return max(0, min(allowed)) if allowed else None

    def _allowed(self, value: Any, loop: Any) -> list[int]:
        """Return the trips that each comparison of a condition allows."""
        made = _maker(self._followed(value))
        if made is None:
            return []
        if made.name == "func.call":
            body = self._functions[made.attributes["callee"].value].operation.regions[0]
            self._given = list(zip(body.blocks[0].arguments, made.operands, strict=True))
            return self._allowed(_returned(body, 0), loop)
        if made.name == "stablehlo.and":
            return [trips for operand in made.operands for trips in self._allowed(operand, loop)]
        if made.name != "stablehlo.compare":
            return []
        word = next(word for word in (*TURNED, "EQ") if word in str(made.attributes["comparison_direction"]))
        left, right = made.operands
        for counter, limit, direction in ((left, right, word), (right, left, TURNED.get(word, word))):
            trips = self._counted(counter, limit, direction, loop)
            if trips is not None:
                return [trips]
        return []

    def _counted(self, counter: Any, limit: Any, direction: str, loop: Any) -> int | None:
        place = _place(self._followed(counter), loop)
        if place is None:
            return None
        start, end, step = self._number(loop.operands[place]), self._number(limit), self._step(loop, place)
        if start is None or end is None or not step:
            return None
        if direction == "NE":
            return (end - start) // step if (end - start) % step == 0 else None
        if (step > 0) != (direction in ("LT", "LE")):
            return None
        return ceil((end - start + (step > 0 or -1) * (direction in ("LE", "GE"))) / step)

    def _step(self, loop: Any, place: int) -> int | None:
        """Return what one run of the body adds to one of the loop's values, 0 when it is handed on."""
        value = self._followed(_returned(loop.regions[1], place))
        if _place(value, loop) == place:
            return 0
        made = _maker(value)
        if made is None or made.name not in ("stablehlo.add", "stablehlo.subtract"):
            return None
        left, right = made.operands
        sign = 1 if made.name == "stablehlo.add" else -1
        if _place(self._followed(left), loop) == place:
            number = self._number(right)
            return None if number is None else sign * number
        if sign == 1 and _place(self._followed(right), loop) == place:
            return self._number(left)
        return None

    def _number(self, value: Any) -> int | None:
        """Return the whole number that a value is, None when it is not known here."""
        value = self._followed(value)
        made = _maker(value)
        if made is None:
            loop = _loop_around(value)
            place = None if loop is None else _place(value, loop)
            if place is None or self._step(loop, place) != 0:
                return None
            return self._number(loop.operands[place])
        if made.name == "stablehlo.constant":
            return _constant(made.attributes["value"])
        if made.name == "stablehlo.while":
            return self._after(made, next(at for at, result in enumerate(made.results) if result == value))
        return None

    def _after(self, loop: Any, place: int) -> int | None:
        """Return one of a loop's values when the loop has ended."""
        start, step = self._number(loop.operands[place]), self._step(loop, place)
        if start is None or step is None:
            return None
        trips = 0 if step == 0 else _Trips(self._functions).of(loop)
        return None if trips is None else start + step * trips

    def _followed(self, value: Any) -> Any:
        """Return what a value is before changes of type and shape, and outside of a function that it was given to."""
        while True:
            made = _maker(value)
            if made is not None and made.name in THROUGH:
                value = made.operands[0]
                continue
            outside = None if made is not None else next((to for given, to in self._given if given == value), None)
            if outside is None:
                return value
            value = outside


def _returned(region: Any, place: int) -> Any:
    return list(region.blocks[0].operations)[-1].operation.operands[place]


def _maker(value: Any) -> Any:
    """Return the operation that makes a value, None for what a block is given."""
    from jaxlib.mlir import ir

    return None if isinstance(value.owner, ir.Block) else getattr(value.owner, "operation", value.owner)


def _loop_around(value: Any) -> Any:
    """Return the loop whose condition or body is given a value, None for a function's argument."""
    owner = value.owner.owner
    operation = getattr(owner, "operation", owner)
    return operation if operation.name == "stablehlo.while" else None


def _place(value: Any, loop: Any) -> int | None:
    """Return which of a loop's values this is in its condition or body, None for another value."""
    for region in loop.regions:
        for place, argument in enumerate(region.blocks[0].arguments):
            if argument == value:
                return place
    return None


def _constant(attribute: Any) -> int | None:
    try:
        return int(attribute.get_splat_value().value if attribute.is_splat else next(iter(attribute)))
    except (AttributeError, TypeError, ValueError, StopIteration):
        return None
