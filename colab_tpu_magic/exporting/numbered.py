"""Say where names in a history hold the numbers that Keras gives to layers without a name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..training.run import Run

OF_AN_OUTPUT = re.compile(r"(?:val_)?(?!val_loss)(.+)_loss")


def numbered_outputs(runs: Iterable[Run], code: str) -> list[str]:
    """Return a sentence when outputs of the runs are named by layers that nobody named, else none.

    Args:
        runs: Runs with their histories.
        code: The code of the script: a name that somebody gave stands in it.
    """
    names: list[str] = []
    for run in runs:
        found = {match[1] for key in run.history if (match := OF_AN_OUTPUT.fullmatch(key))}
        names += sorted(name for name in found if f'"{name}"' not in code and f"'{name}'" not in code)
    if not names:
        return []
    return [
        f"Keras numbers layers without a name as they are made, so the figures of outputs can have other numbers in "
        f'their names than in the notebook: {names[0]}_loss. A name keeps them: keras.layers.Dense(1, name="price").'
    ]
