"""Find out how often a StableHLO loop runs, from its counter, its limit and its step."""

from __future__ import annotations

from math import ceil
from typing import Any

THROUGH = ("stablehlo.convert", "stablehlo.reshape", "stablehlo.broadcast_in_dim", "stablehlo.optimization_barrier")


def trips_of(loop: Any, functions: dict[str, Any]) -> int:
    """Return how often the body of a loop runs; 1 where its condition is not that of a counted loop."""
    condition = loop.regions[0].blocks[0]
    result = list(condition.operations)[-1].operation.operands[0]
    counted = _limits(result, loop)
    return max(0, min(counted)) if counted else 1


def _limits(value: Any, loop: Any) -> list[int]:
    """Return the trips that each comparison of a condition allows."""
    made = _maker(value)
    if made is None:
        return []
    if made.name == "stablehlo.and":
        return [trips for operand in made.operands for trips in _limits(operand, loop)]
    if made.name != "stablehlo.compare":
        return []
    direction = str(made.attributes["comparison_direction"])
    left, right = made.operands
    for counter, limit, word in ((left, right, direction), (right, left, _turned(direction))):
        place = _place(counter, loop)
        if place is None:
            continue
        start, step, end = _number(loop.operands[place], loop), _step(loop, place), _number(limit, loop)
        if start is None or step is None or end is None or step == 0:
            continue
        if "LT" in word and step > 0:
            return [ceil((end - start) / step)]
        if "LE" in word and step > 0:
            return [ceil((end + 1 - start) / step)]
        if "GT" in word and step < 0:
            return [ceil((start - end) / -step)]
        if "GE" in word and step < 0:
            return [ceil((start - end + 1) / -step)]
        if "NE" in word and (end - start) % step == 0:
            return [(end - start) // step]
    return []


def _turned(direction: str) -> str:
    for word, other in (("LT", "GT"), ("GT", "LT"), ("LE", "GE"), ("GE", "LE")):
        if word in direction:
            return other
    return direction


def _maker(value: Any) -> Any:
    """Return the operation that makes a value, None for what a block is given."""
    from jaxlib.mlir import ir

    return None if isinstance(value.owner, ir.Block) else getattr(value.owner, "operation", value.owner)


def _place(value: Any, loop: Any) -> int | None:
    """Return which of a loop's values this is in its condition or body, None for another value."""
    made = _maker(value)
    while made is not None and made.name in THROUGH:
        value = made.operands[0]
        made = _maker(value)
    if made is not None:
        return None
    for region in loop.regions:
        for place, argument in enumerate(region.blocks[0].arguments):
            if argument == value:
                return place
    return None


def _step(loop: Any, place: int) -> int | None:
    """Return what one run of the body adds to one of the loop's values, 0 when it is handed on."""
    body = loop.regions[1].blocks[0]
    value = list(body.operations)[-1].operation.operands[place]
    if _place(value, loop) == place:
        return 0
    made = _maker(value)
    if made is None or made.name not in ("stablehlo.add", "stablehlo.subtract"):
        return None
    left, right = made.operands
    sign = 1 if made.name == "stablehlo.add" else -1
    if _place(left, loop) == place:
        number = _number(right, loop)
        return None if number is None else sign * number
    if sign == 1 and _place(right, loop) == place:
        return _number(left, loop)
    return None


def _number(value: Any, loop: Any) -> int | None:
    """Return the whole number that a value is, None when it is not known here."""
    made = _maker(value)
    if made is None:
        place = _place(value, loop)
        if place is not None and _step(loop, place) == 0:
            return _number(loop.operands[place], _around(loop))
        return None
    if made.name in THROUGH:
        return _number(made.operands[0], loop)
    if made.name != "stablehlo.constant":
        return None
    return _constant(made.attributes["value"])


def _around(loop: Any) -> Any:
    """Return the loop that a loop stands in, or the loop itself where there is none."""
    parent = loop.parent
    while parent is not None:
        operation = parent.operation
        if operation.name == "stablehlo.while":
            return operation
        parent = operation.parent
    return loop


def _constant(attribute: Any) -> int | None:
    try:
        if attribute.is_splat:
            return int(attribute.get_splat_value().value)
        return int(next(iter(attribute)))
    except (AttributeError, TypeError, ValueError, StopIteration):
        return None
