"""Connect for a check; what stands in the way is a finding and no error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import ConnectError
from ..hardware.environment import detect_environment
from ..rewrite.finding import Finding
from .check import refusal
from .environment_traps import find_in_environment
from .report import merged

if TYPE_CHECKING:
    from ..backends.base import Runtime


def runtime_or_finding(connect: Callable[[], Runtime]) -> tuple[Runtime | None, tuple[Finding, ...]]:
    """Return the runtime, or None and why there is none.

    Args:
        connect: Returns the current runtime, connecting where nothing is.
    """
    try:
        return connect(), ()
    except ConnectError as error:
        around = find_in_environment(detect_environment())
        return None, merged([*around, refusal(error)] if not any(one.severity == "error" for one in around) else around)
