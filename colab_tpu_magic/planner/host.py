"""Measure how fast this machine prepares batches: the feed of a fit, made and thrown away for a moment."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import TpuMagicError
from ..rewrite.dataset import training_feed
from ..rewrite.feed import PREFETCH
from ..rewrite.sources import ArraySource, rows_of
from .asked import Asked
from .plan import HostRate
from .row import Row
from .targets import Target

WARM_UP = 2
MOST_BATCHES = 40
"""Batches that are taken besides the first ones, where taking them is the user's own work; of arrays any number."""
ARRAY_SECONDS, MOST_SECONDS = 0.2, 0.4
"""How long batches are taken for: 40 small ones of an array come in less than a millisecond, which tells nothing."""


def host_rate(asked: Asked, arguments: Mapping[str, Any], row: Row, target: Target) -> HostRate | None:
    """Return how many rows a second this machine prepares for a row; None where the data cannot be read again.

    The batches are made as a fit makes them, with as many threads, and go nowhere: neither the transfer to a device nor
    the step is in it. Data that is made by a function or a generator of the user's is left alone.

    Args:
        asked: What was read of the fit.
        arguments: Those of the `fit` call, by name.
        row: The row whose batch size is prepared.
        target: Its target.
    """
    if asked.request is None or callable(arguments["x"]):
        return None
    try:
        prepared = _prepared(asked, arguments, row, target)
        source = prepared.data
        feed = training_feed(source, prepared.batch_size, True, 0, True, PREFETCH)
        limits = (math.inf, ARRAY_SECONDS) if isinstance(source, ArraySource) else (MOST_BATCHES, MOST_SECONDS)
        rows, seconds, batches = _timed(feed, *limits)
        feed.close()
    except (TpuMagicError, StopIteration):
        return None
    if not rows or seconds <= 0:
        return None
    rate = rows / seconds
    kind = "arrays" if isinstance(source, ArraySource) else f"the {source.form}"
    how = (
        f"{batches:,} batch{'es' if batches != 1 else ''} of {row.batch_size:,} rows of {kind}, prepared on this machine in "
        f"{seconds:.2g} s; no transfer to a device is in it"
    )
    return HostRate(rate, how, None if not row.speed else rate >= row.speed)


def _prepared(asked: Asked, arguments: Mapping[str, Any], row: Row, target: Target) -> Any:
    from ..rewrite.streams import read_data

    request = asked.request
    assert request is not None
    if not isinstance(request.data, ArraySource):
        # What was looked at is a stand-in without batches, or has lost its first one.
        data = read_data(arguments["x"], class_weight=arguments["class_weight"], model=asked.model, ahead=True)
        request = replace(request, data=data)
    prepared = replace(asked, request=request).prepared(row.batch_size, target)
    assert prepared is not None
    return prepared


def _timed(batches: Any, most: float, seconds: float) -> tuple[int, float, int]:
    """Return the rows of some batches, the seconds they took, and how many they were, the first ones left out.

    Args:
        batches: Yields them.
        most: How many are taken.
        seconds: How long they are taken for.
    """
    rows = counted = 0
    begun = time.perf_counter()
    for number, batch in enumerate(batches):
        if number < WARM_UP:
            begun = time.perf_counter()
            continue
        rows += rows_of(batch)
        counted += 1
        if counted >= most or time.perf_counter() - begun > seconds:
            break
    return rows, time.perf_counter() - begun, counted
