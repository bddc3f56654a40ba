"""How much time, memory and how many processes compiling may take, and what it takes."""

from __future__ import annotations

import os

from ...files.memory import available_bytes

SECONDS = 600.0
"""Time that one compile may take where nothing else is asked for."""
SHARE = 0.8
"""Part of the free memory that one compile may take where nothing else is asked for."""
LEAST_BYTES = 1 << 30
"""Memory that it may take at the least: the compiler's own and a small model."""
TYPICAL_BYTES = 3 << 30
"""Memory that a compile is counted with when several are to run at once; a ResNet50 takes 4.6 GB."""


def default_memory_bytes() -> int:
    """Return the memory that a compile may take when nobody says: a share of what is free now."""
    free = available_bytes()
    return max(LEAST_BYTES, int(SHARE * free)) if free is not None else 8 << 30


def parallel_compiles() -> int:
    """Return how many compiles may run at once: one thread each, so as cores and free memory allow."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    free = available_bytes()
    by_memory = cores if free is None else int(SHARE * free) // TYPICAL_BYTES
    return max(1, min(cores, by_memory))


def resident_bytes(pid: int) -> int:
    """Return the memory that a process has now, 0 when it is gone.

    Pages of files count too: libtpu itself is some 250 MiB of them.
    """
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
