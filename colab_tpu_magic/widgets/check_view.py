"""Show what a check found: one line each with what to type, and the rules that would act."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ..checking.report import UNEXPLAINED
from ..rewrite.finding import Finding
from .changes import changes_html
from .text import changes_text

if TYPE_CHECKING:
    from ..checking.report import Report

# Okabe and Ito's palette: told apart by colour-blind people. The word says the same.
COLOURS = {"error": "#D55E00", "warning": "#E69F00", "note": "#0072B2"}
_FOLDED = "{count} rule{s} would act"


def report_text(report: Report, rules: bool = True) -> str:
    """Return a report as text; empty when nothing was found and no rules are asked for.

    Args:
        report: What a check found.
        rules: List the rules that would act too.
    """
    lines = [line for finding in report.findings for line in _lines(finding)]
    if rules and report.changes:
        lines += [f"{_many_rules(report)}:", *(f"  {line}" for line in changes_text(report.changes).splitlines())]
    if lines:
        lines += [f"Not looked at: {sentence}." for sentence in report.not_looked_at]
    return "\n".join(lines)


def report_bundle(report: Report, rules: bool = True) -> dict[str, str]:
    """Return a report as a MIME bundle, HTML and text.

    Args:
        report: What a check found.
        rules: List the rules that would act too.
    """
    return {"text/html": _html(report, rules), "text/plain": report_text(report, rules)}


def headline(report: Report) -> str:
    """Count the findings: ``"1 error, 2 notes"``."""
    counts = {
        kind: sum(finding.severity == kind for finding in report.findings) for kind in ("error", "warning", "note")
    }
    return ", ".join(f"{count} {kind}{'s' if count != 1 else ''}" for kind, count in counts.items() if count)


def _lines(finding: Finding) -> list[str]:
    lines = [f"{finding.severity.capitalize()}: {finding.message}  [{finding.trap}]"]
    return [*lines, f"  Type: {finding.type_next}"] if finding.type_next else lines


def _many_rules(report: Report) -> str:
    count = len(report.changes)
    return _FOLDED.format(count=count, s="" if count == 1 else "s")


def _html(report: Report, rules: bool) -> str:
    parts = []
    if report.findings:
        parts.append(f'<div style="font-size:15px;font-weight:600;margin-bottom:6px">{escape(headline(report))}</div>')
        parts += [_finding(finding) for finding in report.findings]
    if rules and report.changes:
        table = changes_html(report.changes, f"{_many_rules(report)} on this call")
        summary = f'<summary style="cursor:pointer;padding:4px 0">{escape(_many_rules(report))}</summary>'
        parts.append(f"<details>{summary}{table}</details>" if report.findings else table)
    if parts:
        parts += [
            f'<div style="opacity:.75;margin-top:4px">Not looked at: {escape(sentence)}.</div>'
            for sentence in report.not_looked_at
        ]
    style = "max-width:960px;color:inherit;font:13px/1.45 system-ui,-apple-system,Segoe UI,DejaVu Sans,sans-serif"
    return f'<div style="{style}">{"".join(parts)}</div>'


def _finding(finding: Finding) -> str:
    colour = COLOURS[finding.severity]
    code = (
        "white-space:pre-wrap;overflow-wrap:anywhere;background:rgba(128,128,128,.14);border-radius:3px;padding:1px 5px"
    )
    typed = (
        f'<div style="margin-top:3px"><span style="opacity:.7">Type</span> '
        f'<code style="{code}">{escape(finding.type_next)}</code></div>'
        if finding.type_next
        else ""
    )
    notes = [f"Source: {escape(finding.source)}"] if finding.source else []
    notes += [] if finding.trap in UNEXPLAINED else [f"<code>%tpu_explain {escape(finding.trap)}</code>"]
    return (
        f'<div role="note" style="border-left:4px solid {colour};padding:2px 0 2px 10px;margin:0 0 10px">'
        f"<div><b>{finding.severity.capitalize()}</b> {escape(finding.message)}</div>{typed}"
        f'<div style="opacity:.65;font-size:12px;margin-top:2px">{" · ".join(notes)}</div></div>'
    )
