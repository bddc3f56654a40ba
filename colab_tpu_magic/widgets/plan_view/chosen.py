"""Which of a plan's rows and layers are drawn: all while they are few, else those that tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...planner.plan import Plan
    from ...planner.row import Row

MOST_ROWS = 10
MOST_LAYERS = 8


@dataclass(frozen=True)
class Share:
    """One bar of a step's time.

    Attributes:
        name: A layer's path, or a group of our own.
        forward: Share of the step in the forward pass, or of all of a group.
        backward: Share in the gradients.
        is_layer: Whether it is one of the user's layers.
    """

    name: str
    forward: float
    backward: float = 0.0
    is_layer: bool = False

    @property
    def total(self) -> float:
        """Both together."""
        return self.forward + self.backward


def drawn_rows(plan: Plan) -> list[Row]:
    """Return the rows of the picture in the plan's order, at most about ten.

    Of many, each target and precision keeps its best, its largest that fits and its smallest that does not.
    """
    from ...planner.row import best_of

    if len(plan.rows) <= MOST_ROWS:
        return list(plan.rows)
    kept: list[Row] = []
    for key in dict.fromkeys((row.target, row.precision) for row in plan.rows):
        group = [row for row in plan.rows if (row.target, row.precision) == key]
        fitting = [row for row in group if row.fits]
        failing = [row for row in group if row.status in ("out-of-memory", "refused")]
        best = best_of(group)
        kept += [best] if best is not None else []
        kept += [max(fitting, key=lambda row: row.batch_size)] if fitting else []
        kept += [min(failing, key=lambda row: row.batch_size)] if failing else []
    chosen = {id(row) for row in kept}
    return [row for row in plan.rows if id(row) in chosen][: 2 * MOST_ROWS]


def main_row(plan: Plan) -> Row | None:
    """Return the row that is told in detail: the best of the first target, or else of any, that has an estimate."""
    for target in plan.targets:
        best = plan.best(target)
        if best is not None:
            return best
    return None


def detailed_rows(plan: Plan) -> list[Row]:
    """Return the best row of each target."""
    return [best for target in plan.targets if (best := plan.best(target)) is not None]


def shares(row: Row) -> list[Share]:
    """Return where a step's time goes: the most expensive layers, the rest of them, and what is no layer."""
    layers = [Share(one.name, one.forward, one.backward, is_layer=True) for one in row.layers if one.total > 0]
    shown, rest = layers[:MOST_LAYERS], layers[MOST_LAYERS:]
    if len(rest) == 1:
        shown, rest = layers, []
    groups = []
    if rest:
        name = f"{len(rest)} other layers"
        groups.append(Share(name, sum(one.forward for one in rest), sum(one.backward for one in rest)))
    groups += [
        Share("optimizer", row.optimizer_share),
        Share("loss and metrics", row.loss_share),
        Share("without a name", row.unnamed_share),
    ]
    return [*shown, *(group for group in groups if group.total > 0)]
