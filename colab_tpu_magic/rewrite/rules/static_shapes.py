"""Rule ``static-shapes``: every training batch has the same shape, and no row is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..alike import alike_rows
from ..buckets import Lengths
from ..padding import in_buckets, padding_for
from ..prepared import PreparedFit
from ..sources import ArraySource, StreamSource
from .base import Rule

if TYPE_CHECKING:
    from ...backends.base import Runtime
    from ...options import FitOptions

MOST_NAMED = 6


class StaticShapes(Rule):
    """Complete the last batch of an epoch from the next shuffle; evaluate every row exactly once."""

    id = "static-shapes"
    title = "Full batches"
    why = (
        "XLA compiles the step for one shape, and the replicas need equal shares. The last batch of an epoch is "
        "completed with the first rows of the next shuffle; evaluation still counts every row exactly once."
    )
    source = "cloud.google.com/tpu/docs/performance-guide, static shapes (2026); the 2018 article's repeat-then-batch"

    def apply(self, prepared: PreparedFit, runtime: Runtime, options: FitOptions) -> PreparedFit:
        """Make all training batches full."""
        validation = prepared.validation and in_buckets(prepared.validation, only_proven=True)
        prepared = prepared.but(full_batches=True, data=in_buckets(prepared.data), validation=validation)
        data = prepared.data
        if not isinstance(data, ArraySource):
            prepared = self._lengths(prepared, data)
            if data.batch_size == prepared.batch_size:
                told = any(change.rule == self.id for change in prepared.changes)
                return prepared if told or not _may_be_short(prepared, data) else self._completed(prepared, data)
            return prepared.but(
                self.change(f"batches of {data.batch_size:,}", f"batches of {prepared.batch_size:,}, every one full")
            )
        prepared = self._alike(prepared, data)
        over = data.rows % prepared.batch_size
        if not over or prepared.request.steps_per_epoch:
            return prepared
        return prepared.but(
            self.change(
                f"last batch of {over:,} row{'s' if over != 1 else ''}", f"every batch {prepared.batch_size:,} rows"
            )
        )

    def _completed(self, prepared: PreparedFit, data: StreamSource) -> PreparedFit:
        """Record that the last batch of a pass is completed, where it has fewer rows or may have."""
        size, rows = prepared.batch_size, data.rows
        if rows is None:
            before = "a last batch that may have fewer rows"
        else:
            before = f"last batch of {rows % size:,} row{'s' if rows % size != 1 else ''}"
        why = f"XLA compiles the step for one shape, and the replicas need equal shares. {_completed_from(data)}"
        return prepared.but(self.change(before, f"every batch {size:,} rows", why))

    def _alike(self, prepared: PreparedFit, data: ArraySource) -> PreparedFit:
        """Group rows of alike length, where their order is free and a mask hides the padding."""
        request = prepared.request
        model = request.model if prepared.text is None else prepared.text.rest
        if not request.shuffle:
            return prepared
        padding = padding_for(model)
        if padding.value or not padding.proof:
            return prepared
        alike = alike_rows(data, model, prepared.batch_size, prepared.epochs - request.initial_epoch)
        if alike is None:
            return prepared
        before, after = (f"{share:.0%} of the values padding" for share in alike.padding)
        shapes: list[tuple[int, ...]] = [(length,) for length in alike.table]
        change = self.change(
            f"rows padded to the longest, {alike.table[-1]:,}: {before}",
            f"batches of rows alike in length, padded to {lengths_text(shapes)}: {after}",
            "Each pass still takes every row once in a new order, and the batches come in a random one; the step is compiled "
            f"{len(shapes)} times. The padding changes no result: {padding.proof}.",
        )
        return prepared.but(change, data=replace(data, alike=alike), shapes=len(shapes))

    def _lengths(self, prepared: PreparedFit, data: StreamSource) -> PreparedFit:
        """Record that rows of varying length are padded to a few lengths."""
        if data.lengths is None or not data.lengths.vary:
            return prepared
        shapes = data.lengths.shapes_at(prepared.batch_size)
        after = f"padded with {padding_text(data.lengths.padding.value)} to {lengths_text(shapes)}"
        why = padding_why(data.lengths, len(shapes))
        if _may_be_short(prepared, data):
            why += f" {_completed_from(data)}"
        return prepared.but(self.change("rows of varying length", after, why), shapes=len(shapes))


def _may_be_short(prepared: PreparedFit, data: StreamSource) -> bool:
    """Return whether the last batch of a pass has fewer rows than the others, or may have."""
    if data.infinite or prepared.request.steps_per_epoch:
        return False
    return data.rows is None or data.rows % prepared.batch_size != 0


def _completed_from(data: StreamSource) -> str:
    """Say what a last batch is completed with: where nobody knows when a pass ends, what came first in it."""
    there = "the same pass" if data.rows is None and data.batches is None else "the next"
    return (
        f"A last batch that is not full is completed with the first rows of {there}; evaluation still counts every row "
        "exactly once."
    )


def lengths_text(shapes: list[tuple[int, ...]]) -> str:
    """Return the padded lengths in words.

    Example:
        >>> lengths_text([(32, 32), (64, 64)]), lengths_text([(8, 16), (8, 32)])
        ('2 lengths: 32, 64', '2 shapes: 8 × 16, 8 × 32')
        >>> lengths_text([(24,)])
        'one length, 24'
    """
    alike = all(len(set(shape)) == 1 for shape in shapes)
    names = [str(shape[0]) if alike else " × ".join(map(str, shape)) for shape in shapes]
    noun = ("length" if alike else "shape") + ("s" if len(shapes) != 1 else "")
    shown = ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
    return f"one {noun}, {shown}" if len(shapes) == 1 else f"{len(shapes)} {noun}: {shown}"


def padding_text(value: float) -> str:
    """Return what rows are padded with, in words: a bare 0 before a count of lengths reads as a range.

    Example:
        >>> padding_text(0), padding_text(-1)
        ('zeros', 'the value -1')
    """
    return "zeros" if value == 0 else f"the value {value:g}"


def padding_why(lengths: Lengths, shapes: int) -> str:
    """Return why rows are padded, and what the padding changes, in two sentences."""
    compiled = "once" if shapes == 1 else f"{shapes} times"
    first = (
        f"XLA compiles the step for each length; so it is compiled {compiled}, and again for a longer row than seen."
    )
    if lengths.padding.proof:
        return f"{first} The padding changes no result: {lengths.padding.proof}."
    if lengths.self_padded:
        return f"{first} The data pads its batches with 0 itself, and no mask hides that: longer padding can change results."
    return f"{first} No mask hides the padding from the model, so it can change results."
