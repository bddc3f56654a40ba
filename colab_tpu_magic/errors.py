"""The errors a user sees: what happened, what was expected, what to type next."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


def nearest(word: str, known: Sequence[str]) -> str:
    """Return the known word that a misspelt one is most likely meant for.

    Example:
        >>> nearest("--batch_size", ["--epochs", "--batch-size"])
        '--batch-size'
    """
    return (get_close_matches(word.lower().replace("_", "-"), known, 1, 0.3) or [known[0]])[0]


def is_near(word: str, known: Sequence[str]) -> bool:
    """Return whether a misspelt word is so near to a known one that this is most likely what was meant.

    Example:
        >>> is_near("batch", ["batch-size"]), is_near("nonsense", ["normalise-on-device"])
        (True, False)
    """
    return bool(get_close_matches(word.lower().replace("_", "-"), known, 1, 0.65))


class TpuMagicError(Exception):
    """Say in one message what happened, what was expected and what to type next.

    Args:
        what: What happened, a sentence.
        expected: What was expected instead, a sentence. May be empty.
        type_next: The exact line or lines to type next. May be empty.

    Example:
        >>> print(TpuMagicError("There is no TPU.", type_next="%tpu_connect --simulate v2-8"))
        There is no TPU.
        Type: %tpu_connect --simulate v2-8
    """

    def __init__(self, what: str, expected: str = "", type_next: str = "") -> None:
        self.what = what
        self.expected = expected
        self.type_next = type_next
        lines = [what]
        if expected:
            lines.append(f"Expected: {expected}")
        if type_next:
            lines.append(f"Type: {type_next}")
        super().__init__("\n".join(lines))


class OptionError(TpuMagicError, ValueError):
    """An option, slice name or argument that cannot be understood."""


class ConnectError(TpuMagicError, RuntimeError):
    """The runtime that was asked for cannot be had on this machine."""


class DataError(TpuMagicError, ValueError):
    """Training, evaluation or prediction data that cannot be used."""


class ModelError(TpuMagicError, TypeError):
    """A model, optimizer or compile setting that cannot train here."""


class ExportError(TpuMagicError, RuntimeError):
    """A run that cannot be written out as a plain script."""
