"""Every rule and every trap in words: a topic each, for ``%tpu_explain``."""

from __future__ import annotations

import inspect
from typing import Any

from ..errors import OptionError, nearest
from .lessons import LESSONS
from .topic import RULE, TRAP, Topic


def topics() -> list[Topic]:
    """Return all topics: the rules in the order in which they are applied, then the traps by id."""
    from ..rewrite.rules import RULES

    rules = [Topic(rule.id, RULE, rule.title, _lesson(rule), rule.source, rule.switch) for rule in RULES]
    traps: dict[str, Topic] = {}
    for trap in _traps():
        traps.setdefault(trap.id, Topic(trap.id, TRAP, trap.title, _docstring(trap), trap.source))
    return [*rules, *(traps[name] for name in sorted(traps) if name not in {rule.id for rule in rules})]


def topic_of(name: str) -> Topic:
    """Return a topic by its id.

    Raises:
        OptionError: There is no such rule or trap.
    """
    known = {topic.id: topic for topic in topics()}
    if name not in known:
        meant = nearest(name.lstrip("-"), list(known))
        raise OptionError(
            f"There is no rule or trap {name!r}.",
            expected="an id as a change or a finding shows it; %tpu_explain lists all.",
            type_next=f"%tpu_explain {meant}",
        )
    return known[name]


def _traps() -> list[Any]:
    from ..checking.cell import CELL_TRAPS
    from ..checking.data_traps import DATA_TRAPS
    from ..checking.environment_traps import ENVIRONMENT_TRAPS
    from ..checking.fit_together import DoesNotFitTogether
    from ..rewrite.traps import TRAPS

    return [*TRAPS, *CELL_TRAPS, *DATA_TRAPS, *ENVIRONMENT_TRAPS, DoesNotFitTogether()]


def _lesson(rule: Any) -> tuple[str, ...]:
    """Return the reason a rule gives with each change, and what there is to teach about it."""
    return (rule.why, *LESSONS.get(rule.id, ()))


def _docstring(trap: Any) -> tuple[str, ...]:
    text = inspect.cleandoc(type(trap).__doc__ or "")
    return tuple(" ".join(part.split()).replace("``", "") for part in text.split("\n\n") if part.strip())
