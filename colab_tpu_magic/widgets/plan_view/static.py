"""The card of a plan: HTML with the pictures in it, the pictures alone, and text; seen again without a kernel."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ...planner.told import gain_text, host_text
from ..picture import MID_GREY, chart_with_png, png_base64
from ..table import table_html
from .chosen import detailed_rows, main_row
from .curve import curve_drawing
from .facts import figures, left_out, refusals, table_of, typed, where_it_flattens
from .layers import layers_drawing
from .memory import memory_drawing
from .strokes import GREEN, ORANGE, RED, Drawing, stacked, svg
from .text import plan_text
from .words import bound_text, row_label

if TYPE_CHECKING:
    from ...planner.plan import Advice, Plan

FONT = "font:13px/1.45 system-ui,-apple-system,Segoe UI,DejaVu Sans,sans-serif"
_HEADING = "font-weight:600;margin:16px 0 4px"
_CODE = "white-space:pre-wrap;overflow-wrap:anywhere;background:rgba(128,128,128,.14);border-radius:3px;padding:1px 5px"
_SUMMARY = "cursor:pointer;padding:4px 0"
_CARD = "border:1px solid rgba(128,128,128,.6);border-radius:8px;padding:12px 16px;max-width:960px;color:inherit"


def plan_bundle(plan: Plan, with_png: bool = True) -> dict[str, str]:
    """Return a plan as a MIME bundle.

    Args:
        plan: The plan, or what there is of it.
        with_png: Draw the PNG, for pages that remove inline SVG; it takes most of the time.
    """
    from .figure import plan_figure

    png = png_base64(lambda: plan_figure(plan)) if with_png and plan.rows else ""
    bundle = {"text/html": plan_html(plan, png), "text/plain": plan_text(plan)}
    if plan.rows:
        bundle["image/svg+xml"] = svg(stacked(drawings(plan)), MID_GREY)
    return bundle | ({"image/png": png} if png else {})


def drawings(plan: Plan) -> list[Drawing]:
    """Return the pictures of a plan: memory, rates, and the layers of its main row."""
    best = main_row(plan)
    drawn = [memory_drawing(plan), curve_drawing(plan), layers_drawing(best) if best is not None else None]
    return [one for one in drawn if one is not None]


def plan_html(plan: Plan, png: str = "", progress: str = "") -> str:
    """Return a plan as HTML: its verdict, what to change, its figures and pictures, and what they leave out.

    Args:
        plan: The plan, or what there is of it.
        png: The pictures as base64 PNG, for pages that remove inline SVG. Empty for none.
        progress: HTML of ours that stands in the verdict's place while the plan is made.
    """
    body = [
        progress or _verdict(plan),
        "".join(_note(problem, ORANGE) for problem in ([] if plan.complete else plan.problems)),
        "".join(_advice(one) for one in plan.advice),
        "".join(_note(reason, RED, name) for name, reason in refusals(plan)),
        _figures(plan),
        _pictures(plan, png),
        f'<div style="margin-top:12px">{escape(host_text(plan.host))}</div>' if plan.host is not None else "",
        "" if progress else _typed(plan) + _details(plan, bool(png)),
    ]
    return f'<div style="{_CARD};{FONT}">{"".join(body)}</div>'


def _verdict(plan: Plan) -> str:
    from ...planner.plan import ESTIMATE

    fits = any(row.fits for row in plan.rows)
    colour, sign = (GREEN, "✓") if fits else (RED, "✕")
    told = f"<code>{escape(plan.model_name)}</code> on {escape(', '.join(plan.targets))} · " if plan.targets else ""
    return (
        '<div style="display:flex;gap:10px;align-items:baseline"><span aria-hidden="true" style="flex:none;'
        f'font-size:17px;font-weight:700;color:{colour}">{sign}</span>'
        f'<div style="font-size:17px;line-height:1.4;font-weight:600">{escape(plan.verdict)}</div></div>'
        f'<div style="opacity:.75;margin:2px 0 0 26px">{told}{ESTIMATE}</div>'
    )


def _advice(one: Advice) -> str:
    typed = f' <code style="{_CODE};white-space:nowrap">{escape(one.typed)}</code>' if one.typed else ""
    return (
        '<div style="display:flex;gap:10px;align-items:baseline;margin:8px 0 0 26px">'
        f'<span style="flex:none;background:{ORANGE};color:#000;border-radius:9px;padding:0 8px;font-weight:600">'
        f"{gain_text(one.gain)}</span><div>{escape(one.text)}{typed}</div></div>"
    )


def _note(words: str, colour: str, name: str = "") -> str:
    style = f"border-left:4px solid {colour};padding:2px 0 2px 10px;margin-top:10px;white-space:pre-wrap"
    title = f"<b>{escape(name)}</b>: " if name else ""
    return f'<div role="note" style="{style}">{title}{escape(words)}</div>'


def _figures(plan: Plan) -> str:
    row = main_row(plan)
    if row is None:
        return ""
    cells = "".join(
        f'<div style="margin:0 26px 4px 0"><div style="opacity:.7;font-size:12px">{title}</div>'
        f'<div style="font-variant-numeric:tabular-nums;font-size:15px">{escape(text)}</div></div>'
        for title, text in figures(row)
    )
    said = " ".join(filter(None, (bound_text(row), where_it_flattens(plan))))
    return (
        f'<div style="{_HEADING}">At its best: {escape(row_label(row, with_precision=bool(row.precision)))}</div>'
        f'<div style="display:flex;flex-wrap:wrap">{cells}</div>'
        + (f'<div style="opacity:.75">{escape(said)}</div>' if said else "")
    )


def _pictures(plan: Plan, png: str) -> str:
    if not plan.rows:
        return ""
    row = main_row(plan)
    curve, layers = curve_drawing(plan), layers_drawing(row) if row is not None else None
    parts = [f'<div style="{_HEADING}">Does it fit?</div>{_wide(svg(memory_drawing(plan)))}']
    halves = []
    if curve is not None:
        dashed = any(not point.compiled for one in plan.curves for point in one.points)
        words = "How fast, by batch size?" + _aside(f"examples/s{'; dashed: not compiled' if dashed else ''}")
        halves.append(f'<div style="{_HALF}"><div style="{_HEADING}">{words}</div>{svg(curve)}</div>')
    if layers is not None and row is not None:
        words = f"Where does a step's time go?{_aside(row_label(row, with_precision=False))}"
        halves.append(f'<div style="{_HALF}"><div style="{_HEADING}">{words}</div>{svg(layers)}</div>')
    parts.append(f'<div style="display:flex;flex-wrap:wrap;gap:0 28px">{"".join(halves)}</div>')
    return chart_with_png("".join(parts), png, " ".join(one.description for one in drawings(plan)))


def _wide(picture: str) -> str:
    """Return a picture that a narrow page scrolls, where it would become too small to read."""
    return f'<div style="overflow-x:auto"><div style="min-width:540px">{picture}</div></div>'


_HALF = "flex:1 1 400px;max-width:440px;min-width:0"


def _aside(words: str) -> str:
    return f' <span style="font-weight:400;opacity:.7">{escape(words)}</span>'


def _typed(plan: Plan) -> str:
    line = typed(plan)
    if not line:
        return ""
    return (
        f'<div style="margin-top:10px"><span style="opacity:.7">Type</span> <code style="{_CODE}">{escape(line)}</code> '
        f'<span style="opacity:.7">above the cell that trains, or</span> <code style="{_CODE}">%%tpu_fit --plan</code></div>'
    )


def _details(plan: Plan, with_png: bool) -> str:
    parts = []
    if plan.rows:
        count = len(plan.rows)
        table = table_html(*table_of(plan), "Every row of the plan")
        title = f"All {count} rows in a table" if count > 1 else "The row in a table"
        parts.append(f'<details style="margin-top:10px"><summary style="{_SUMMARY}">{title}</summary>{table}</details>')
    main = main_row(plan)
    for row in detailed_rows(plan):
        drawing = layers_drawing(row)
        if row is not main and drawing is not None:
            title = f"Where a step's time goes on {row_label(row, with_precision=False)}"
            # Where a page removes SVG, its loose labels stay out of sight, as those of the picture above do.
            hidden = ' class="tpu-magic-chart" hidden="hidden"' if with_png else ""
            shown = f"<div{hidden}>{svg(drawing)}</div>"
            parts.append(f'<details><summary style="{_SUMMARY}">{escape(title)}</summary>{shown}</details>')
    said = left_out(plan)
    if said:
        items = "".join(f'<li style="margin:2px 0">{escape(sentence)}</li>' for sentence in said)
        parts.append(
            f'<details><summary style="{_SUMMARY}">How the figures were made, and what they leave out</summary>'
            f'<ul style="margin:2px 0 2px 18px;padding:0">{items}</ul></details>'
        )
    return "".join(parts)
