"""Choose few cases in which every two values of different factors that go together meet at least once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

Case = dict[str, Any]


def covering(factors: Mapping[str, Sequence[Any]], possible: Callable[[Case], bool]) -> list[Case]:
    """Return cases that cover every possible pair; the same list each time.

    Each next case is the one that has the most pairs not met yet, the first of equals.

    Args:
        factors: The values of each factor.
        possible: Whether the values of a whole case go together.

    Example:
        >>> covering({"a": [1, 2], "b": [3, 4], "c": [5, 6]}, lambda case: True)[0]
        {'a': 1, 'b': 3, 'c': 5}
    """
    names = list(factors)
    cases = [case for values in product(*factors.values()) if possible(case := dict(zip(names, values, strict=True)))]
    pairs = [frozenset(combinations(sorted(case.items(), key=lambda item: names.index(item[0])), 2)) for case in cases]
    missing = set().union(*pairs)
    chosen: list[int] = []
    while missing:
        best = max(range(len(cases)), key=lambda at: len(pairs[at] & missing))
        chosen.append(best)
        missing -= pairs[best]
    return [cases[at] for at in sorted(chosen)]
