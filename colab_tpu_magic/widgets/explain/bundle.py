"""A topic, or the list of them, as a MIME bundle: HTML with the picture in it, and text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from ..table import Cell, table_html, table_text
from .figures import Figures
from .pictures import picture_of

if TYPE_CHECKING:
    from ...explanations.topic import Topic

_FONT = "font:13px/1.5 system-ui,-apple-system,Segoe UI,DejaVu Sans,sans-serif;color:inherit"
_TITLES = ("id", "what it is about", "in a sentence")


def topic_bundle(topic: Topic, figures: Figures) -> dict[str, str]:
    """Return one topic: what it is, its picture, its paragraphs, its source and its switch.

    Args:
        topic: What to explain.
        figures: Numbers for the picture.
    """
    svg = picture_of(topic.id, figures)
    drawn = f'<div style="margin:10px 0 12px">{svg}</div>' if svg else ""
    paragraphs = "".join(f'<p style="margin:0 0 8px">{escape(part)}</p>' for part in topic.paragraphs)
    switch = f"To have it otherwise: <code>%%tpu_fit {escape(topic.switch)}</code> · " if topic.switch else ""
    html = (
        f'<div style="max-width:720px;{_FONT}"><div style="font-size:16px;font-weight:600">{escape(topic.title)} '
        f'<span style="font-weight:400;opacity:.65;font-size:13px">{topic.kind} <code>{escape(topic.id)}</code></span></div>'
        f'{drawn}{paragraphs}<div style="opacity:.65;font-size:12px">{switch}Source: {escape(topic.source)}</div></div>'
    )
    lines = [f"{topic.title} ({topic.kind} {topic.id})", *(textwrap.fill(part, 100) for part in topic.paragraphs)]
    lines += [f"To have it otherwise: %%tpu_fit {topic.switch}"] if topic.switch else []
    return {"text/html": html, "text/plain": "\n".join([*lines, f"Source: {topic.source}"])}


def topics_bundle(topics: Sequence[Topic]) -> dict[str, str]:
    """Return all topics as two tables: the rules, and the traps."""
    html, text = [], []
    for kind, heading in (
        ("rule", "Rules that put a call into TPU-ready form"),
        ("trap", "Traps that %tpu_check finds"),
    ):
        rows = [(Cell(one.id), Cell(one.title), Cell(one.summary)) for one in topics if one.kind == kind]
        html.append(
            f'<div style="font-weight:600;margin:8px 0 2px">{heading}</div>{table_html(_TITLES, rows, heading)}'
        )
        text += [heading, table_text(_TITLES, rows), ""]
    hint = "One of them with its picture: %tpu_explain batch-size"
    html.append(f'<div style="opacity:.75;margin-top:6px">{hint}</div>')
    return {
        "text/html": f'<div style="max-width:960px;{_FONT}">{"".join(html)}</div>',
        "text/plain": "\n".join([*text, hint]),
    }
