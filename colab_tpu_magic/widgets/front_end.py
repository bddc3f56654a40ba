"""Ask the front end now and then whether it keeps up, so that a slow or absent one is sent less."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

ASK_SECONDS = 2.0
"""From one question to the next."""
PATIENCE_SECONDS = 5.0
"""After this long without an answer the front end counts as away, or as one that never answers."""
PROMPT_SECONDS = 0.5
"""Answers this fast are no lag: a step and the look for messages take a while too."""


class FrontEnd:
    """Measure the way to the front end and back with two fields that it links.

    A number written into one widget's unused field comes back through the other one's when the
    browser has worked through all that was sent before it. No JavaScript of ours is needed.

    Args:
        source: A widget with a synced text ``placeholder`` that it never shows.
        target: Another one, whose messages reach this process while it trains.
        clock: Returns seconds.
    """

    def __init__(self, source: Any, target: Any, clock: Callable[[], float] = time.perf_counter) -> None:
        from ipywidgets import jsdlink

        self._source, self._target, self._clock = source, target, clock
        source.placeholder = target.placeholder = "0"
        self._link = jsdlink((source, "placeholder"), (target, "placeholder"))
        self._asked_at: float | None = None
        self._next_ask = clock() + ASK_SECONDS
        self._number = 0
        self._answered = False
        self._silent = False
        self._lag = 0.0
        target.observe(self._hear, "placeholder")

    def ask(self) -> None:
        """Send the next question when it is time for one."""
        now = self._clock()
        if self._silent or self._asked_at is not None or now < self._next_ask:
            return
        self._number += 1
        self._asked_at = now
        self._source.placeholder = str(self._number)

    def pause_seconds(self) -> float:
        """Return how long to wait between two drawings for the front end's sake; 0 when it keeps up."""
        waiting = self._clock() - self._asked_at if self._asked_at is not None else 0.0
        if waiting > PATIENCE_SECONDS and not self._answered:
            # It never answered, so silence says nothing: a kernel that runs without a front end, or with an old one.
            self._silent, self._asked_at = True, None
            return 0.0
        lag = max(self._lag, waiting)
        return min(lag, PATIENCE_SECONDS) if lag > PROMPT_SECONDS else 0.0

    def close(self) -> None:
        """Close the link."""
        self._link.close()

    def _hear(self, change: Any) -> None:
        if self._asked_at is not None and change["new"] == str(self._number):
            now = self._clock()
            self._lag = now - self._asked_at
            self._asked_at, self._answered = None, True
            # One slow answer may be an accident: the next question follows at once.
            self._next_ask = now if self._lag > PROMPT_SECONDS else now + ASK_SECONDS
