"""Text, and integers for tables, turned into numbers by a model's own first layers, batch by batch on the host's CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import DataError
from .base import Rows
from .text_function import TextFunction

AT_ONCE = 4096
"""Rows that are looked at in one go to learn how long the longest becomes."""


class MadeRows(Rows):
    """Rows that a model's first layers make of text when a batch asks for them.

    Args:
        function: What makes them.
        leaves: What it takes, each an array ``(rows, ...)``.

    Attributes:
        longest: How long every row is made with zeros at its end, None where the layers say how long rows are.
        lengths: How long each row is without the zeros at its end, likewise.
    """

    def __init__(self, function: TextFunction, leaves: Sequence[np.ndarray]) -> None:
        self.function, self.leaves = function, leaves
        self.longest: int | None = None
        self.lengths: np.ndarray | None = None
        shape = list(function.shape[1:])
        if None in shape:
            self.lengths, self.longest = self._look()
            shape = [self.longest if length is None else length for length in shape]
        super().__init__((len(leaves[0]), *shape), function.dtype)

    def _look(self) -> tuple[np.ndarray, int]:
        """Make every row once and keep none: return how long each is, and how long the layers make the longest."""
        rows, lengths, longest = len(self.leaves[0]), [], 0
        for at in range(0, rows, AT_ONCE):
            there = self.function([leaf[at : at + AT_ONCE] for leaf in self.leaves], self.leaves) != 0
            there = there.reshape(*there.shape[:2], -1).any(axis=2)
            lengths.append((there * np.arange(1, there.shape[1] + 1)).max(axis=1, initial=0))
            longest = max(longest, there.shape[1])
        return np.concatenate(lengths), longest

    def gather(self, rows: np.ndarray) -> np.ndarray:
        """Make the numbers of some rows."""
        numbers = self.function([leaf[rows] for leaf in self.leaves], self.leaves)
        if numbers.shape[1:] == self.shape[1:]:
            return numbers
        padded = np.zeros((len(rows), *self.shape[1:]), self.dtype)
        padded[:, : numbers.shape[1]] = numbers
        return padded


def text_array(leaf: Any, shape: tuple[int | None, ...], name: str = "x", inputs: Sequence[str] = ()) -> np.ndarray:
    """Return a user's text as an array that fits an input of a model.

    Args:
        leaf: An array, a list, a pandas column or a tensor of text.
        shape: The input's, the batch axis first.
        name: What it is called.
        inputs: The names of all inputs, where there are several.

    Raises:
        DataError: When it holds no text, or rows of another shape.
    """
    if type(leaf).__module__.split(".")[0] == "pandas":
        leaf = leaf.to_numpy(dtype=object)
    elif isinstance(leaf, list | tuple):
        leaf = np.array(leaf, dtype=object)
    elif not isinstance(leaf, np.ndarray):
        leaf = np.asarray(leaf)
    if leaf.dtype.kind == "T":
        leaf = leaf.astype(object)
    if leaf.dtype.kind not in "USO":
        raise DataError(
            f"{name} holds numbers (dtype {leaf.dtype}), and the model begins with text.",
            expected="an array of text." if not inputs else f"the parts {', '.join(inputs)}, in this order or by name.",
            type_next=f"{name} = {name}.astype(str)"
            if not inputs
            else f"x = {{{', '.join(f'{one!r}: ...' for one in inputs)}}}",
        )
    return fitted(leaf, shape, name)


def fitted(leaf: Any, shape: tuple[int | None, ...], name: str = "x") -> Any:
    """Return an array with as many axes as an input has, one of length 1 added or left out, as Keras does."""
    if leaf.ndim == len(shape) + 1 and leaf.shape[-1] == 1:
        return leaf.reshape(leaf.shape[:-1])
    if leaf.ndim == len(shape) - 1 and shape[-1] == 1:
        return leaf.reshape(*leaf.shape, 1)
    if leaf.ndim != len(shape):
        raise DataError(
            f"{name} has rows of shape {leaf.shape[1:]}, and the model takes {tuple(shape[1:])}.",
            expected="rows of the shape that keras.Input was given.",
        )
    return leaf
