"""The picture of the rate: examples per second over the batch size, what was not compiled dashed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..axes import ValueAxis, value_axis
from .chosen import main_row
from .strokes import BLUE, GREEN, ORANGE, PURPLE, QUIET, RED, SKY, Drawing, legend, line, text
from .words import precision_text, rate_text, rates_text, tick_text

if TYPE_CHECKING:
    from ...planner.plan import Curve, CurvePoint, Plan

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED)
WIDTH, HEIGHT = 440.0, 276.0
_LEFT, _RIGHT, _BOTTOM = 66.0, 18.0, 42.0
WIDE_SPREAD = 40
"""From this ratio of the highest to the lowest rate the axis is logarithmic."""


def curve_drawing(plan: Plan) -> Drawing | None:
    """Return the rate over the batch size, a line for each target and precision; None without two rates of one."""
    curves = [curve for curve in plan.curves if _drawn(curve)]
    if max((len(_drawn(curve)) for curve in curves), default=0) < 2:
        return None
    names = curve_names(plan)
    entries = [(COLOURS[place % len(COLOURS)], names[plan.curves.index(one)]) for place, one in enumerate(curves)]
    head, high = legend(_LEFT, 12, entries, WIDTH - _LEFT) if len(curves) > 1 else ("", 0.0)
    top, bottom = 12 + high + 6, HEIGHT - _BOTTOM
    scales = _Scales(curves, top, bottom)
    parts = [head, scales.grid()]
    for place, curve in enumerate(curves):
        parts.append(_line(curve, COLOURS[place % len(COLOURS)], scales, plan, alone=len(curves) == 1))
    best = main_row(plan)
    if best is not None:
        x, y = scales.x(best.batch_size), scales.y(best.speed)
        parts.append(
            f'<circle cx="{x:.5g}" cy="{y:.5g}" r="7.5" fill="none" stroke="currentColor" stroke-width="1.4"/>'
        )
    parts.append(text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 4, "global batch size", f'text-anchor="middle" {QUIET}'))
    return Drawing("".join(parts), WIDTH, HEIGHT, _described(plan, curves, names))


def curve_names(plan: Plan) -> list[str]:
    """Return a name for each curve that tells it from the others."""
    several_targets = len({curve.target for curve in plan.curves}) > 1
    several = len({curve.precision for curve in plan.curves}) > 1
    return [
        " · ".join(
            ([curve.target] if several_targets or not several else [])
            + ([precision_text(curve.precision)] if several else [])
        )
        for curve in plan.curves
    ]


def stretches(points: tuple[CurvePoint, ...]) -> list[tuple[CurvePoint, CurvePoint, bool]]:
    """Return the lines between neighbours, each with whether both its ends were compiled."""
    return [(one, two, one.compiled and two.compiled) for one, two in zip(points, points[1:])]


def uses_log(curves: list[Curve]) -> bool:
    """Return whether the rates lie so far apart that their axis is logarithmic."""
    rates = [point.examples_per_second for curve in curves for point in _drawn(curve)]
    return bool(rates) and max(rates) > WIDE_SPREAD * min(rates)


def _drawn(curve: Curve) -> list[CurvePoint]:
    return [
        point for point in curve.points if point.examples_per_second > 0 and math.isfinite(point.examples_per_second)
    ]


class _Scales:
    """Where batch sizes (by their logarithm) and rates stand."""

    def __init__(self, curves: list[Curve], top: float, bottom: float) -> None:
        points = [point for curve in curves for point in _drawn(curve)]
        sizes = [point.batch_size for point in points]
        sizes += [size for curve in curves for size in (curve.largest_batch, curve.first_refused) if size]
        rates = [point.examples_per_second for point in points]
        self.top, self.bottom = top, bottom
        self._low, self._high = math.log2(min(sizes)), math.log2(max(sizes))
        if self._high == self._low:
            self._low, self._high = self._low - 1, self._high + 1
        log = uses_log(curves)
        self.axis: ValueAxis = value_axis(min(rates) if log else 0.0, max(rates), log)
        self._floor = self.axis.low if log else 0.0
        self.ticks = _size_ticks(self._low, self._high)

    def x(self, size: float) -> float:
        return _LEFT + 8 + (WIDTH - _RIGHT - _LEFT - 16) * (math.log2(size) - self._low) / (self._high - self._low)

    def y(self, rate: float) -> float:
        value = math.log10(rate) if self.axis.log else rate
        return self.bottom - (self.bottom - self.top) * (value - self._floor) / (self.axis.high - self._floor)

    def grid(self) -> str:
        parts = []
        for place, _ in self.axis.ticks:
            if place < self._floor:
                continue
            y = self.bottom - (self.bottom - self.top) * (place - self._floor) / (self.axis.high - self._floor)
            strength = ".5" if place == self._floor else ".13"
            parts.append(line(_LEFT, y, WIDTH - _RIGHT, y, f'stroke="currentColor" opacity="{strength}"'))
            shown = tick_text(10**place if self.axis.log else place)
            parts.append(text(_LEFT - 8, y + 4, shown, f'text-anchor="end" {QUIET}'))
        for size in self.ticks:
            x = self.x(size)
            parts.append(line(x, self.bottom, x, self.bottom + 4, 'stroke="currentColor" opacity=".5"'))
            parts.append(text(x, self.bottom + 18, f"{size:,}", f'text-anchor="middle" {QUIET}'))
        return "".join(parts)


def _size_ticks(low: float, high: float) -> list[int]:
    """Return powers of two between two logarithms, at most six; the lower end where there is none."""
    powers = list(range(math.ceil(low), math.floor(high) + 1))
    stride = max(1, -(-len(powers) // 6))
    return [2**power for power in powers[::stride] if power >= 0] or [round(2**low)]


def _line(curve: Curve, colour: str, scales: _Scales, plan: Plan, alone: bool) -> str:
    points = tuple(_drawn(curve))
    parts = []
    for one, two, compiled in stretches(points):
        dashes = "" if compiled else 'stroke-dasharray="5 4" opacity=".85"'
        ends = (
            (scales.x(one.batch_size), scales.y(one.examples_per_second)),
            (
                scales.x(two.batch_size),
                scales.y(two.examples_per_second),
            ),
        )
        parts.append(line(*ends[0], *ends[1], f'stroke="{colour}" stroke-width="2" {dashes}'))
    rows = {row.batch_size: row for row in plan.rows if (row.target, row.precision) == (curve.target, curve.precision)}
    for point in points:
        if not point.compiled:
            continue
        x, y = scales.x(point.batch_size), scales.y(point.examples_per_second)
        row = rows.get(point.batch_size)
        said = rates_text(row.examples_per_second) if row is not None else rate_text(point.examples_per_second)
        if row is not None and row.examples_per_second[1] > 1.02 * row.examples_per_second[0] > 0:
            high = max(scales.top, scales.y(row.examples_per_second[1]))
            parts.append(line(x, y, x, high, f'stroke="{colour}" stroke-width="5" opacity=".3"'))
        tip = f"batch {point.batch_size:,}: {said} examples/s"
        parts.append(f'<circle cx="{x:.5g}" cy="{y:.5g}" r="4" fill="{colour}"><title>{tip}</title></circle>')
    if curve.largest_batch:
        x = scales.x(curve.largest_batch)
        parts.append(line(x, scales.top, x, scales.bottom, f'stroke="{colour}" stroke-dasharray="2 3" opacity=".8"'))
        if alone:
            end = x > WIDTH / 2
            more = f'text-anchor="{"end" if end else "start"}" font-size="11" {QUIET}'
            parts.append(
                text(x - 5 if end else x + 5, scales.bottom - 8, f"largest that fits: {curve.largest_batch:,}", more)
            )
    if curve.first_refused:
        x, y = scales.x(curve.first_refused), scales.bottom
        cross = f"M{x - 4:.5g} {y - 4:g}l8 8m0 -8l-8 8"
        tip = f"batch {curve.first_refused:,} does not fit"
        parts.append(f'<path d="{cross}" stroke="{RED}" stroke-width="2" fill="none"><title>{tip}</title></path>')
    return "".join(parts)


def _described(plan: Plan, curves: list[Curve], names: list[str]) -> str:
    said = []
    for curve in curves:
        points = ", ".join(
            f"{rate_text(point.examples_per_second)} at {point.batch_size:,}"
            for point in curve.points
            if point.compiled
        )
        fits = f"; the largest batch that fits is {curve.largest_batch:,}" if curve.largest_batch else ""
        said.append(f"{names[plan.curves.index(curve)]}: {points}{fits}")
    return f"Examples per second by batch size. {'. '.join(said)}."
