"""A dataset that is shuffled anew each time it is begun: begin it in a script as often as in the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..rewrite.forms.tf_data import FORM as TF_DATA
from ..training.recipe import Recipe
from ..training.run import Run
from .expressions import called, is_simple

LOOK = "  # as the run looked at it: its next order is the one that counts"
OFTEN = (
    "A tf.data.Dataset comes in a new order each time it is begun (shuffle), and this one was begun by more than one fit, "
    "or by training and validation in turns: how often before which step depends on what is made ahead, so the order is "
    "not that of the run. shuffle(..., reshuffle_each_iteration=False), or a dataset of its own for each, keeps it."
)
ELSEWHERE = (
    "A tf.data.Dataset comes in a new order each time it is begun (shuffle), and plain Keras begins this one more often "
    "than the run did, so the order is not that of the run. shuffle(..., reshuffle_each_iteration=False) keeps it."
)


def looks(recipe: Recipe, texts: dict[str, str]) -> tuple[dict[str, str], list[str], list[str]]:
    """Return the arguments of a fit, the lines before it that begin its datasets once more, and what stays apart.

    Args:
        recipe: How the run was made.
        texts: The user's arguments, name to text.
    """
    before: list[str] = []
    apart: list[str] = []
    texts = dict(texts)

    def look(name: str, bound: str, text: str) -> None:
        if not is_simple(text):
            before.append(f"{bound} = {text}")
            texts[name] = text = bound
        before.append(f"next(iter({text})){LOOK}")

    data, validation = recipe.data, recipe.validation
    if data.orders and data.form == TF_DATA and not data.longest and recipe.full_batches and not data.call:
        if recipe.steps_per_epoch is None:
            apart.append(ELSEWHERE)
        elif not recipe.looked_at:
            look("x", "the_data", called(texts["x"], data))
    if validation is not None and validation.picked and validation.form == TF_DATA and not validation.call:
        if recipe.backend == "tensorflow" and recipe.replicas > 1:
            apart.append(ELSEWHERE)
        elif texts.get("validation_steps", "None") == "None" and not validation.longest:
            look("validation_data", "the_validation", texts["validation_data"])
    return texts, before, apart


def begun_often(runs: Iterable[Run]) -> list[str]:
    """Return a sentence when one shuffle gave several fits their rows, or training and validation."""
    begun: Counter[int] = Counter()
    for run in runs:
        if run.recipe is not None:
            begun.update(run.recipe.data.orders)
            begun.update(run.recipe.validation.orders if run.recipe.validation is not None else ())
    return [OFTEN] if any(count > 1 for count in begun.values()) else []
