"""Pad batches whose lengths vary to a few lengths, so that the step is compiled for a few shapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import DataError

SHORTEST = 8

Batch = tuple[Any, ...]


@dataclass(frozen=True)
class Padding:
    """What short rows are filled up with.

    Attributes:
        value: The number for inputs; targets and weights get 0.
        proof: Why padding changes no result: ``"the model masks 0 (Embedding mask_zero)"``. Empty when it may.
    """

    value: float = 0.0
    proof: str = ""


NO_PADDING = Padding()


@dataclass(frozen=True)
class Lengths:
    """The axes of a stream's arrays that vary, and what was seen of them ahead.

    Attributes:
        axes: Of each flattened array, the axes that vary, the first not among them.
        seen: For each batch looked at, its rows and the lengths of all those axes in order.
        padding: What to pad with.
        inputs: How many of the flattened arrays are inputs.
        self_padded: Whether the data pads its own batches with 0, as far as was seen.
    """

    axes: tuple[tuple[int, ...], ...]
    seen: tuple[tuple[int, tuple[int, ...]], ...]
    padding: Padding = NO_PADDING
    inputs: int = 1
    self_padded: bool = False

    @property
    def values(self) -> tuple[float, ...]:
        """The number that each flattened array is padded with."""
        return tuple(self.padding.value if at < self.inputs else 0.0 for at in range(len(self.axes)))

    @property
    def vary(self) -> bool:
        """Whether lengths were seen to vary, and not only said to be able to."""
        return len({lengths for _, lengths in self.seen}) > 1

    def shapes_at(self, batch_size: int) -> list[tuple[int, ...]]:
        """Return the padded lengths that batches of a size come in, as far as was seen, shortest first."""
        buckets, found = Buckets.of(self), set()
        for lengths in _joined(self.seen, batch_size):
            found.add(tuple(buckets.length(at, length) for at, length in enumerate(lengths)))
        return sorted(found)


@dataclass
class Buckets:
    """The lengths that batches are padded to; longer ones that turn up later add to them.

    Attributes:
        axes: As in `Lengths`.
        values: What each flattened array is padded with.
        longest: The longest seen of each varying axis, rounded up to a multiple of 8 where several were seen.
    """

    axes: tuple[tuple[int, ...], ...]
    values: tuple[float, ...]
    longest: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, lengths: Lengths) -> Buckets:
        """Return the buckets for what was seen."""
        every = zip(*(one for _, one in lengths.seen), strict=True)
        longest = [_up(max(one), SHORTEST) if len(set(one)) > 1 else one[0] for one in every]
        return cls(lengths.axes, lengths.values, longest)

    def length(self, at: int, length: int) -> int:
        """Return the length that an axis is padded to.

        Powers of two from 8 on, and the longest seen in place of the last of them: a table of
        a handful of shapes wastes at most half of a batch.

        Args:
            at: Which of the varying axes, counted over all arrays.
            length: How long it is.

        Example:
            >>> buckets = Buckets(((1,),), (0.0,), [120])
            >>> [buckets.length(0, length) for length in (3, 9, 64, 65, 120, 121)]
            [8, 16, 64, 120, 120, 128]
        """
        bucket = SHORTEST
        while bucket < length:
            bucket *= 2
        return min(bucket, self.longest[at]) if length <= self.longest[at] else bucket

    def pad(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches, each padded to the lengths of its bucket."""
        import keras

        for batch in batches:
            leaves, at, padded = keras.tree.flatten(batch), 0, []
            for leaf, axes, value in zip(leaves, self.axes, self.values, strict=True):
                shape = list(leaf.shape)
                for axis in axes:
                    shape[axis] = self.length(at, shape[axis])
                    at += 1
                padded.append(_padded(leaf, shape, value))
            yield keras.tree.pack_sequence_as(batch, padded)

    def join(self, batches: Sequence[Batch]) -> Batch:
        """Return batches as one, rows after rows, the shorter padded to the longest."""
        import keras

        joined = []
        for leaves, value in zip(zip(*map(keras.tree.flatten, batches), strict=True), self.values, strict=True):
            shape = np.max([leaf.shape for leaf in leaves], axis=0)
            joined.append(np.concatenate([_padded(leaf, [len(leaf), *shape[1:]], value) for leaf in leaves]))
        return keras.tree.pack_sequence_as(batches[0], joined)


def lengths_of(
    batches: Sequence[Batch], free: Sequence[tuple[int, ...] | None], padding: Padding = NO_PADDING
) -> Lengths | None:
    """Return the axes that may vary, with what some batches have shown of them; None when there are none.

    Args:
        batches: What was looked at, at least one.
        free: As in `Stream.free`; arrays behind its end have fixed lengths.
        padding: What to pad with.

    Raises:
        DataError: When the arrays have not the same number of axes in every batch.
    """
    import keras

    flat = [keras.tree.flatten(batch) for batch in batches]
    if any(len({leaf.ndim for leaf in leaves}) > 1 for leaves in zip(*flat, strict=True)):
        raise DataError("The data gives arrays with another number of axes in each batch.", expected="the same in all.")
    known = [*free, *[()] * (len(flat[0]) - len(free))]
    axes = tuple(tuple(range(1, leaf.ndim)) if own is None else own for leaf, own in zip(flat[0], known, strict=True))
    if not any(axes):
        return None
    seen = tuple(
        (len(leaves[0]), tuple(leaf.shape[axis] for leaf, own in zip(leaves, axes, strict=True) for axis in own))
        for leaves in flat
    )
    lengths = Lengths(axes, seen, padding, len(keras.tree.flatten(batches[0][0])))
    return replace(lengths, self_padded=_pads_itself(flat, axes)) if lengths.vary else lengths


def _pads_itself(flat: list[list[np.ndarray]], axes: tuple[tuple[int, ...], ...]) -> bool:
    """Return whether rows end in 0 where others of their batch go on, the sign of ``padded_batch``."""
    at = next(at for at, own in enumerate(axes) if own)
    ends = [np.moveaxis(leaves[at], axes[at][0], 1)[:, -1].reshape(len(leaves[at]), -1) for leaves in flat]
    zero = [(end == 0).all(axis=1) for end in ends if end.size]
    return any(one.any() for one in zero) and not any(one.all() for one in zero)


def _joined(seen: Iterable[tuple[int, tuple[int, ...]]], batch_size: int) -> Iterator[tuple[int, ...]]:
    """Yield the lengths of batches of a size, joined from those that were seen."""
    have, longest = 0, None
    for rows, lengths in seen:
        longest = lengths if longest is None else tuple(map(max, longest, lengths))
        have += rows
        while have >= batch_size and longest is not None:
            yield longest
            have -= batch_size
            longest = lengths if have else None
    if longest is not None:
        yield longest


def _padded(leaf: np.ndarray, shape: Sequence[int], value: float) -> np.ndarray:
    """Return an array in a larger shape, the rest filled with a value; the same array when it has it already."""
    if tuple(shape) == leaf.shape:
        return leaf
    full = np.full(shape, value, leaf.dtype)
    full[tuple(map(slice, leaf.shape))] = leaf
    return full


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
