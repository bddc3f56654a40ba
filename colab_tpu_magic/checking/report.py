"""What a check found: findings with the line to type, and the rules that would act."""

from __future__ import annotations

from dataclasses import dataclass

from ..rewrite.change import Change
from ..rewrite.finding import SEVERITIES, Finding

REFUSED, STOPPED, UNUSED, UNSEEN = "refused", "cell-stops", "nothing-trained", "not-looked-at"
UNEXPLAINED = (REFUSED, STOPPED, UNUSED, UNSEEN)
"""Ids of findings that are no trap: ``%tpu_explain`` has nothing more to say of them."""


@dataclass(frozen=True)
class Report:
    """What `check` and ``%tpu_check`` return or show.

    Attributes:
        findings: What was found, the gravest first.
        changes: What the rules would change, in their order.
        not_looked_at: What could not be looked at without changing it, in words.
    """

    findings: tuple[Finding, ...] = ()
    changes: tuple[Change, ...] = ()
    not_looked_at: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __bool__(self) -> bool:
        """Whether there is something to show: a finding."""
        return bool(self.findings)

    def text(self, rules: bool = True) -> str:
        """Return the report as text, empty when nothing was found and no rules are asked for.

        Args:
            rules: List the rules that would act too.
        """
        from ..widgets.check_view import report_text

        return report_text(self, rules)

    def bundle(self, rules: bool = True) -> dict[str, str]:
        """Return the report as a MIME bundle, HTML and text.

        Args:
            rules: List the rules that would act too.
        """
        from ..widgets.check_view import report_bundle

        return report_bundle(self, rules)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return self.bundle()


def merged(findings: list[Finding]) -> tuple[Finding, ...]:
    """Return findings in order of gravity, each sentence once.

    Where a cell's text has shown a trap already, with its line, the same trap met again while it runs says
    nothing new.
    """
    kept: list[Finding] = []
    for finding in findings:
        if any(one.trap == finding.trap and _same(one, finding) for one in kept):
            continue
        kept.append(finding)
    return tuple(sorted(kept, key=lambda finding: (SEVERITIES.index(finding.severity), _line(finding))))


def _same(first: Finding, second: Finding) -> bool:
    return first.message == second.message or (is_in_text(first) and not is_in_text(second))


def _line(finding: Finding) -> int:
    """Return the cell's line that a finding names; those that name none come after."""
    words = finding.message.split(maxsplit=2)
    return int(words[1][:-1]) if is_in_text(finding) and words[1][:-1].isdigit() else 10**6


def is_in_text(finding: Finding) -> bool:
    """Return whether a finding names a line of a cell."""
    return finding.message.startswith("Line ")
