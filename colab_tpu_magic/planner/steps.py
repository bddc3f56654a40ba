"""The steps of one model: lowered when they are needed, known without that where they were lowered before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..rewrite.rules.batch_size import TILE_ROWS
from ..rewrite.text_pipeline import taking_numbers
from .heads import Head, Heads, head_key, known_by_content, name_key
from .lower import lower
from .module import Lowered
from .targets import Target


@dataclass(frozen=True)
class Case:
    """One thing to compile.

    Attributes:
        target: The slice.
        batch_size: Rows in the global batch.
        precision: ``"float32"``, ``"bfloat16"``, or ``""`` for the model's own.
    """

    target: Target
    batch_size: int
    precision: str = ""

    @property
    def text(self) -> str:
        """It in a few words: ``"v5e-1, batch 1,024, bfloat16"``."""
        return f"{self.target.name}, batch {self.batch_size:,}" + (f", {self.precision}" if self.precision else "")


class Steps:
    """A model's steps.

    Args:
        model: A compiled Keras model.
        parts: ``(x, y, sample_weight)`` of a batch as shapes alone.
        passed_on: Other arguments of the `fit` call that the step depends on.
        heads: Where heads are kept; None keeps none.
        fixed: The batch size that the model was made for, or None.
    """

    def __init__(
        self,
        model: Any,
        parts: tuple[Any, Any, Any],
        passed_on: Mapping[str, Any] | None = None,
        heads: Heads | None = None,
        fixed: int | None = None,
    ) -> None:
        self.model = model
        self.parts = parts
        self._passed_on = passed_on
        self._heads = heads
        self._fixed = fixed
        self._witness: Lowered | None = None

    def known(self, case: Case) -> Head | None:
        """Return the step if it was lowered before, without its module; None otherwise.

        Its layers have the names that they had then.
        """
        return None if self._heads is None else self._heads.get(self._key(case))

    def lowered(self, case: Case) -> Head:
        """Return the step with its module, and keep what is told of it.

        Raises:
            DataError: As `lower` does.
            ModelError: As `lower` does.
        """
        step = known_by_content(self._lower(case.target.devices, case.batch_size, case.precision))
        if self._heads is not None:
            self._heads.put(self._key(case), step)
        return step

    def named_at(self, step: Head, target: Target, cached: bool) -> Head:
        """Return the step under whose names an answer is kept: the one that was compiled for that target.

        Args:
            step: A step whose answer there is now.
            target: The slice it was compiled for: another one may have been asked about it under other names.
            cached: Whether the answer was known before; otherwise it has the names of this step.
        """
        if self._heads is None:
            return step
        key = name_key(step.digest(), json.dumps([target.topology, target.topology_arguments]))
        if not cached:
            self._heads.put(key, step)
            return step
        return self._heads.get(key) or step

    @property
    def witness(self) -> Lowered:
        """The step that the model is known by."""
        if self._witness is None:
            self._witness = known_by_content(self._lower(1, self._fixed or TILE_ROWS, ""))
        return self._witness

    def _key(self, case: Case) -> str:
        return head_key(self.witness.digest(), case.target.devices, case.batch_size, case.precision)

    def _lower(self, devices: int, batch_size: int, precision: str) -> Lowered:
        with taking_numbers(self.model):
            return lower(
                self.model,
                *self.parts,
                devices=devices,
                batch_size=batch_size,
                precision=precision or None,
                kwargs=self._passed_on,
            )
