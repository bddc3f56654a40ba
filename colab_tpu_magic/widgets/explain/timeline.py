"""Pictures of time: host and device side by side, with and without overlap, and orders for steps."""

from __future__ import annotations

from .drawing import BLUE, GREEN, ORANGE, QUIET, box, line, middle, picture, text, title
from .figures import Figures

WIDTH = 620
_LEFT, _BAR = 70.0, 22.0


def _lane(parts: list[str], y: float, name: str) -> None:
    parts += [text(10, y + 15, name), line(_LEFT, y + _BAR + 3, WIDTH - 10, y + _BAR + 3)]


def overlap(figures: Figures) -> str:
    """Draw the host gathering batches and the device computing them, one after the other and at once."""
    host, step = 70.0, 78.0
    parts = [title(10, 16, "one after the other"), title(10, 112, "batches made ahead")]
    for lane, top in enumerate((24.0, 120.0)):
        _lane(parts, top, "host")
        _lane(parts, top + 34, "device")
        count = 3 if lane == 0 else 6
        at = _LEFT
        for index in range(count):
            begin = at if lane == 0 else _LEFT + index * step
            parts.append(_bar(begin, top, host, ORANGE, f"batch {index + 1}"))
            start = begin + host if lane == 0 else _LEFT + host + index * step
            parts.append(_bar(start, top + 34, step, BLUE, f"step {index + 1}"))
            if lane == 0:
                parts.append(middle(begin + host / 2, top + 49, "waits", QUIET))
            at = start + step
    parts += [
        text(
            10,
            212,
            "The same time holds twice as many steps when the host makes the next batch while the device computes.",
            QUIET,
        )
    ]
    return picture(
        parts,
        WIDTH,
        220,
        "Without overlap the device waits for every batch; with batches made ahead it computes all the time.",
    )


def dispatches(figures: Figures) -> str:
    """Draw one order from Python for each step, and one for several."""
    order, step = 22.0, 24.0
    many = max(2, min(figures.steps, 8))
    parts = [title(10, 16, "an order for every step"), title(10, 112, f"one order for {many} steps")]
    for lane, top in enumerate((24.0, 120.0)):
        _lane(parts, top, "Python")
        _lane(parts, top + 34, "device")
        at, steps = _LEFT, 0
        while at + order + step < WIDTH - 10:
            parts.append(_bar(at, top, order, GREEN, ""))
            at += order
            for _ in range(1 if lane == 0 else many):
                if at + step > WIDTH - 10:
                    break
                steps += 1
                parts.append(_bar(at, top + 34, step, BLUE, str(steps)))
                at += step
        parts.append(text(WIDTH - 10, top - 8, f"{steps} steps in the same time", f'text-anchor="end" {QUIET}'))
    parts += [box(10, 204, 12, 10, GREEN), text(27, 213, "order, callbacks and metrics, in Python")]
    return picture(
        parts, WIDTH, 222, f"One order for each step, and one for {many} steps: more steps in the same time."
    )


def _bar(x: float, y: float, wide: float, colour: str, words: str) -> str:
    bar = box(x + 1, y, wide - 2, _BAR, colour)
    return bar + (middle(x + wide / 2, y + 15, words, 'font-size="10"') if words else "")
