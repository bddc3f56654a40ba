"""Say in a sentence why a step was not compiled, from what the compiler or the system said."""

from __future__ import annotations

import re
import signal

from ..results import Refused
from .environment import EXTRA_LINE, INSTALL_LINE
from .process import TimeIsUp, TooMuchMemory, WorkerDied

GIB = 2**30
_UNITS = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
_SIZE = r"(\d+(?:\.\d+)?)\s*([KMGTP]?)i?B?\b"
# Both forms that were seen or are known: before the buffers are laid out, and after.
_OUT_OF_MEMORY = (
    re.compile(rf"memory required[^()]*\({_SIZE}\) exceeds available HBM \({_SIZE}\)", re.IGNORECASE),
    re.compile(rf"Used {_SIZE} of {_SIZE} hbm", re.IGNORECASE),
)
LONGEST = 400
"""Letters of the compiler's own words that are shown."""


def out_of_memory(words: str) -> Refused | None:
    """Return the refusal if the compiler says that one device has not the memory, else None.

    Example:
        >>> said = "RESOURCE_EXHAUSTED: … memory required for HLO temporaries (20.00G) exceeds available HBM (15.75G)."
        >>> out_of_memory(said).needed_bytes
        21474836480
    """
    for form in _OUT_OF_MEMORY:
        if found := form.search(words):
            number, unit, most, most_unit = found.groups()
            needed = int(float(number) * _UNITS[unit.upper()])
            allowed = int(float(most) * _UNITS[most_unit.upper()])
            return Refused(
                "out-of-memory",
                f"Does not fit: {needed / GIB:,.2f} GiB needed on each device, {allowed / GIB:,.2f} GiB there.",
                needed,
                allowed,
            )
    return None


def from_words(words: str) -> Refused:
    """Return the refusal for an error that the compiler raised."""
    if (full := out_of_memory(words)) is not None:
        return full
    if "RESOURCE_EXHAUSTED" in words and "hbm" in words.lower():
        return Refused("out-of-memory", f"Does not fit: {shortened(words)}")
    return Refused("unsupported", f"The TPU compiler does not take this step: {shortened(words)}")


def cannot_load(words: str, python: str) -> Refused:
    """Return the refusal for a Python that has the versions and cannot load them."""
    return Refused(
        "no-compiler",
        f"The TPU compiler of {python} does not load: {shortened(words)}\n"
        f"Type: {INSTALL_LINE}   (makes an environment of its own)\nor:   {EXTRA_LINE}",
    )


def from_death(died: WorkerDied) -> Refused:
    """Return the refusal for a worker that ended twice in the middle of this step."""
    if died.code == -signal.SIGKILL:
        return Refused(
            "killed",
            "The compiler was killed from outside, twice: by hand, or by the system for want of memory."
            " Expected: free memory, or a smaller batch or model.",
        )
    how = signal_name(-died.code) if died.code < 0 else f"exit code {died.code}"
    tail = died.printed.strip().splitlines()[-1:] or [""]
    return Refused("crash", f"The compiler crashed on this step, twice ({how}). {shortened(tail[0])}".rstrip())


def from_limit(over: TimeIsUp | TooMuchMemory, seconds: float, memory_bytes: int) -> Refused:
    """Return the refusal for a step that took more time or memory than it may."""
    if isinstance(over, TimeIsUp):
        return Refused("time", f"Not compiled within {seconds:,.6g} s. A longer time is allowed by --seconds.")
    return Refused(
        "memory",
        f"The compiler needs more than the {memory_bytes / GIB:,.3g} GiB of this machine's memory that it may take.",
        over.used,
        memory_bytes,
    )


def shortened(words: str) -> str:
    """Return the first lines of somebody's words in one line, not too long."""
    line = " ".join(words.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def signal_name(number: int) -> str:
    """Return a signal's name, ``"SIGSEGV"``, or its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
