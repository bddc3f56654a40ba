"""Read which targets, batch sizes and precisions a plan is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import OptionError
from .lower import PRECISIONS
from .targets import Target
from .targets import target as target_named

TARGET = "v5e-1"
"""What is planned for when nobody says."""
MOST_ROWS = 2**31 - 1
"""Rows of a batch at most: a step counts them in 32 bits."""


@dataclass(frozen=True)
class Wanted:
    """What a plan is to answer.

    Attributes:
        targets: The slices.
        batch_sizes: Global batch sizes, or None to choose them.
        precisions: ``"float32"``, ``"bfloat16"``, ``""`` for the model's own.
    """

    targets: tuple[Target, ...]
    batch_sizes: tuple[int, ...] | None
    precisions: tuple[str, ...]


def wanted_of(
    target: str | Sequence[str], batch_sizes: int | Sequence[int] | None, precision: str | Sequence[str] | None
) -> Wanted:
    """Return what a plan is to answer.

    Raises:
        OptionError: For an unknown target or precision, and batch sizes that are none.

    Example:
        >>> [one.name for one in wanted_of("v2-8,v5litepod-1", 128, None).targets]
        ['v2-8', 'v5e-1']
        >>> wanted_of("v2-8", 128, ("keep", "bfloat16")).precisions
        ('', 'bfloat16')
    """
    targets = tuple(dict.fromkeys(target_named(name) for name in _names(target)))
    named = _names(precision) if precision is not None else []
    precisions = tuple(dict.fromkeys("" if one == "keep" else one for one in named))
    for one in precisions:
        if one not in ("", *PRECISIONS):
            raise OptionError(
                f"There is no precision {one!r}.",
                expected="float32, bfloat16, or both.",
                type_next="--precision float32,bfloat16",
            )
    if not targets:
        raise OptionError("No target was named.", type_next=f"--target {TARGET}")
    return Wanted(targets, _sizes(batch_sizes), precisions or ("",))


def _names(given: str | Sequence[str]) -> list[str]:
    parts = given.split(",") if isinstance(given, str) else [part for one in given for part in str(one).split(",")]
    return [part.strip() for part in parts if part.strip()]


def _sizes(given: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if given is None:
        return None
    sizes = [given] if not isinstance(given, Sequence) else list(given)
    wrong = [
        size for size in sizes if isinstance(size, bool) or not hasattr(size, "__index__") or not 1 <= size <= MOST_ROWS
    ]
    if wrong or not sizes:
        raise OptionError(
            f"A batch of {wrong[0] if wrong else 'no size'!r} rows cannot be planned.",
            expected=f"whole numbers from 1 to {MOST_ROWS:,}.",
            type_next="--batch-sizes 128,512,2048",
        )
    return tuple(sorted({int(size) for size in sizes}))
