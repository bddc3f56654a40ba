"""A plan as plain JSON values, and back: it can be read without the compiler, whatever the versions of the day."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from ..options import FitOptions
from .plan import Plan


def plan_fields(plan: Plan) -> dict[str, Any]:
    """Return a plan as a dict of JSON values, of the recommended options only those that are not the usual ones."""
    return {**asdict(plan), "recommended": _unusual(plan.recommended)}


def plan_of(held: Mapping[str, Any]) -> Plan:
    """Return the plan that JSON values tell; a field that is not there has its usual value.

    Raises:
        ValueError: For a field that a plan does not have, and values that are none of it.
    """
    made = _made(Plan, held)
    if not isinstance(made, Plan):
        raise ValueError("it tells no plan")
    return made


def _unusual(options: FitOptions) -> dict[str, Any]:
    return {
        one.name: getattr(options, one.name)
        for one in fields(options)
        if getattr(options, one.name) != getattr(FitOptions(), one.name)
    }


def _made(kind: Any, held: Any) -> Any:
    """Return a value of a type from what JSON has for it."""
    if get_origin(kind) in (Union, types.UnionType):
        others = [one for one in get_args(kind) if one is not type(None)]
        return held if held is None or len(others) > 1 else _made(others[0], held)
    if get_origin(kind) is tuple:
        if not isinstance(held, list | tuple):
            raise ValueError(f"{held!r} is no list")
        of = get_args(kind)
        return tuple(_made(of[0] if of[1:] == (...,) else of[place], one) for place, one in enumerate(held))
    if not is_dataclass(kind):
        return held
    shape: Any = kind
    if not isinstance(held, Mapping):
        raise ValueError(f"{held!r} is no {shape.__name__}")
    hints = get_type_hints(shape)
    unknown = sorted(set(held) - {one.name for one in fields(shape)})
    if unknown:
        raise ValueError(f"{shape.__name__} has no {', '.join(unknown)}")
    try:
        return shape(**{name: _made(hints[name], value) for name, value in held.items()})
    except (TypeError, IndexError) as error:
        raise ValueError(str(error)) from None
