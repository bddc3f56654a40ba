"""The numbers in a picture: those of the last run, or of the runtime, or an example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...rewrite.tiles import TILE_ROWS

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...training.run import Run

EXAMPLE_BATCH, EXAMPLE_REPLICAS = 32, 8


@dataclass(frozen=True)
class Figures:
    """Numbers for a picture.

    Attributes:
        replicas: Devices that run the step.
        before: The user's global batch size, rows.
        batch: The global batch size that trains, rows.
        steps: Steps in one dispatch.
        origin: Where they come from, for people.
    """

    replicas: int = EXAMPLE_REPLICAS
    before: int = EXAMPLE_BATCH
    batch: int = 1024
    steps: int = 8
    origin: str = "an example"

    @property
    def share(self) -> int:
        """Rows of one replica."""
        return max(1, self.batch // self.replicas)

    @property
    def share_before(self) -> int:
        """Rows of one replica with the user's batch."""
        return max(1, -(-self.before // self.replicas))

    @property
    def filled(self) -> float:
        """Share of the tiles' rows that the user's batch fills."""
        return self.share_before / (-(-self.share_before // TILE_ROWS) * TILE_ROWS)


def figures_of(run: Run | None, runtime: Runtime | None) -> Figures:
    """Return the numbers of the last run, else those of the runtime, else an example.

    Args:
        run: The last run, or None.
        runtime: The connected runtime, or None.
    """
    if run is not None and run.global_batch_size:
        said = {change.rule: change for change in run.changes}
        before = _number(said["batch-size"].before) if "batch-size" in said else None
        steps = _number(said["steps-per-execution"].after) if "steps-per-execution" in said else None
        return Figures(
            run.replicas,
            before or run.global_batch_size,
            run.global_batch_size,
            steps or 8,
            f"the last run, {run.title}",
        )
    if runtime is not None:
        return Figures(runtime.replicas, EXAMPLE_BATCH, 128 * runtime.replicas, 8, runtime.device)
    return Figures()


def _number(text: str) -> int | None:
    digits = "".join(letter for letter in text.partition(" ")[0] if letter.isdigit())
    return int(digits) if digits else None
