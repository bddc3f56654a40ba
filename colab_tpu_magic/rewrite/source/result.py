"""What a migration gives back: the new text, what was rewritten, what is only told, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Rewrote:
    """One place of the source that was rewritten, or that only needs a remark.

    Attributes:
        line: Line of the source as it was given, from 1.
        rule: Id of the rewrite, for example ``"tf-train-optimizers"``.
        before: The code as it was.
        after: The code as it is now; empty when it was dropped.
        why: The reason, at most two sentences.
        source: Where the reason comes from.
    """

    line: int
    rule: str
    before: str
    after: str
    why: str
    source: str


@dataclass(frozen=True)
class Refused:
    """Something that has no form of today.

    Attributes:
        line: Line of the source as it was given, from 1.
        name: What it is, for example ``"tf.contrib.tpu.TPUEstimator"``.
        why: Why it cannot be carried over.
        instead: What to do, a sentence.
        unread: Whether it is no Python, so that nothing of the text could be brought up to date.
    """

    line: int
    name: str
    why: str
    instead: str
    unread: bool = False


@dataclass(frozen=True)
class MigratedSource:
    """A source brought up to date.

    Attributes:
        text: The source of today; the one that was given when nothing was old.
        rewrites: What was rewritten, by line.
        refusals: What cannot be carried over, by line. The text holds it unchanged.
        notes: What works as it stands, and what it was counted for: before and after are the same.

    Example:
        >>> from colab_tpu_magic import migrate
        >>> migrate("tpu_model.sync_to_cpu().summary()").text  # doctest: +SKIP
        'tpu_model.summary()'
    """

    text: str
    rewrites: tuple[Rewrote, ...] = ()
    refusals: tuple[Refused, ...] = ()
    notes: tuple[Rewrote, ...] = ()

    @property
    def is_old(self) -> bool:
        """Whether there is anything to tell of: a rewrite or a refusal."""
        return bool(self.rewrites or self.refusals)

    @property
    def unread(self) -> bool:
        """Whether the text cannot be read as Python 3; the one refusal says where and why."""
        return any(refused.unread for refused in self.refusals)

    def below(self, lines: int) -> MigratedSource:
        """Return the same with every line counted from so many lines further up: a magic's own line, say."""
        return replace(
            self,
            rewrites=tuple(replace(row, line=row.line + lines) for row in self.rewrites),
            refusals=tuple(replace(row, line=row.line + lines) for row in self.refusals),
            notes=tuple(replace(row, line=row.line + lines) for row in self.notes),
        )
