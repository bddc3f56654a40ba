"""Show that watching a long fit grows neither the memory nor the time of a batch.

Batches that take no time run through our monitor and live view in a real kernel; after 10,000,
100,000 and 1,000,000 of them its memory is read. The bare fit beside it shows what Keras itself keeps.

Usage: ``python -m benchmarks.memory [--quick]``
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
import tracemalloc
from pathlib import Path

from .cells import kernel_for, run_cell, value_of
from .dashboard.contenders import CONTENDERS, NONE
from .report import headline, machine, markdown_table, progress, save

TOTALS = (10_000, 100_000, 1_000_000)
QUICK_TOTALS = (1_000, 10_000)
# Epochs as long as this: their ends are part of a fit, and a million batches have a thousand of them.
STEPS = 1_000
# What JAX keeps of each array that was read would otherwise look like growth.
FEW_VALUES = 8
MIB = 2**20
NAMES = ("ours", NONE)


def main() -> None:
    """Measure both ways, with and without tracing of Python's memory, and print a table."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.memory", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="10,000 batches at most, to see that it works")
    totals = QUICK_TOTALS if parser.parse_args().quick else TOTALS
    about = machine()
    plain, traced = ({name: _measured(name, totals, trace) for name in NAMES} for trace in (False, True))
    header = ["batches"]
    for name in NAMES:
        header += [f"{CONTENDERS[name].title}: RSS MiB", "Python MiB", "µs/batch"]
    rows = [
        [f"{total:,}", *(text for name in NAMES for text in _texts(plain[name][place], traced[name][place]))]
        for place, total in enumerate(totals)
    ]
    print(f"{headline(about)}\n\nGrowth since the first epoch\n\n{markdown_table(header, rows)}")
    save("memory", {"machine": about, "plain": plain, "traced": traced})


def growth(name: str, totals: tuple[int, ...], trace: bool) -> list[dict[str, float]]:
    """Run one fit, in the kernel, and read the memory and the time after each total of batches.

    Args:
        name: The contender, a key of `CONTENDERS`.
        totals: Batches after which to read, ascending.
        trace: Trace what Python allocates, which slows the batches and takes memory of its own.

    Returns:
        For each total ``rss_bytes`` and ``python_bytes``, grown since the first epoch, and ``batch_seconds``,
        the mean since the total before.
    """
    from .dashboard.fixed_fit import FixedFit

    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        fit = FixedFit(1 + totals[-1] // STEPS, STEPS, 0.0, Path(folder), values=FEW_VALUES)
        with CONTENDERS[name].start(fit) as callbacks:
            callbacks.on_train_begin()
            # The first epoch and the first drawings make what is made once.
            fit.run_epoch(callbacks, 0)
            if trace:
                tracemalloc.start()
            readings, at_first, epoch = [], _memory(), 1
            for before, total in zip((0, *totals), totals):
                start = time.perf_counter()
                while (epoch - 1) * STEPS < total:
                    fit.run_epoch(callbacks, epoch)
                    epoch += 1
                seconds = (time.perf_counter() - start) / (total - before)
                grown = {kind: float(size - at_first[kind]) for kind, size in _memory().items()}
                readings.append(grown | {"batch_seconds": seconds})
            tracemalloc.stop()
            callbacks.on_train_end({})
    return readings


def _measured(name: str, totals: tuple[int, ...], trace: bool) -> list[dict[str, float]]:
    progress(f"{totals[-1]:,} batches of {name}{', traced' if trace else ''}")
    with kernel_for(KERAS_BACKEND="jax", JAX_PLATFORMS="cpu") as kernel:
        run_cell(kernel, f"from benchmarks.memory import growth; found = growth({name!r}, {totals!r}, {trace})")
        readings: list[dict[str, float]] = value_of(kernel, "found")
    return readings


def _texts(plain: dict[str, float], traced: dict[str, float]) -> list[str]:
    return [
        f"{plain['rss_bytes'] / MIB:.1f}",
        f"{traced['python_bytes'] / MIB:.2f}",
        f"{1e6 * plain['batch_seconds']:.1f}",
    ]


def _memory() -> dict[str, int]:
    """Return the memory of this process, and what Python has allocated while it is traced."""
    import psutil

    gc.collect()
    return {"rss_bytes": psutil.Process().memory_info().rss, "python_bytes": tracemalloc.get_traced_memory()[0]}


if __name__ == "__main__":
    main()
