"""Number the passes over files, so that each has an order of its own and a run can say with which it began."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

APART = 1_000_003  # a prime: passes of near seeds do not share their orders


@dataclass(eq=False)
class Passes:
    """The orders in which files are read: one for each pass, that of the seed and of the pass's number.

    Attributes:
        seed: Of the orders.
        begun: Passes begun so far.

    Example:
        >>> passes = Passes(0)
        >>> passes.next(), passes.next(), passes.begun
        (0, 1, 2)
    """

    seed: int
    begun: int = 0

    @classmethod
    def of(cls, seed: int | None) -> Passes:
        """Return the passes of a seed; where there is none NumPy draws it."""
        return cls(int(np.random.randint(2**31)) if seed is None else int(seed))

    def next(self) -> int:
        """Return the number of the pass that begins now."""
        self.begun += 1
        return self.begun - 1

    def next_seed(self) -> int:
        """Return the seed of the pass that begins now, for what takes one number."""
        return self.seed + APART * self.next()


def passes_beneath(dataset: Any) -> list[Passes]:
    """Return the passes of the files that a ``tf.data.Dataset`` was made from, however it was mapped since.

    Args:
        dataset: Anything; of what is no dataset there are none.
    """
    from .notes import notes_of

    notes = notes_of(dataset)
    if notes is not None:
        return [] if notes.passes is None else [notes.passes]
    inputs = getattr(dataset, "_inputs", None)  # tf.data has no public name for what a dataset was made from
    return [one for part in (inputs() if callable(inputs) else ()) for one in passes_beneath(part)]
