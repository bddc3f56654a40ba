"""Compare what it costs to watch a fit: our dashboard, progress bars, live plots and loggers.

Every contender has a kernel of its own, in which its fits and bare ones take turns; a figure is the
median over the repeats, set against the bare fit beside it.

Usage: ``python -m benchmarks.dashboard [--quick] [--repeats N] [--longer N] [--only NAME ...]``
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any

from ..cells import Kernel, kernel_for, run_cell, value_of
from ..report import headline, machine, markdown_table, progress, save, spread
from .contenders import CONTENDERS, NONE
from .figures import Pair, Shape, per_batch_and_epoch

SHAPES = (Shape(2, 500), Shape(20, 50))
QUICK_SHAPES = (Shape(2, 100), Shape(10, 20))
STEP_SECONDS = (0.0015, 0.0002)
REPEATS = 5
ENVIRONMENT = {
    "KERAS_BACKEND": "jax",
    "JAX_PLATFORMS": "cpu",
    "WANDB_MODE": "offline",
    "WANDB_SILENT": "true",
    "WANDB_ERROR_REPORTING": "false",
}


def main() -> None:
    """Measure, print a table for each length of step, and keep every run."""
    arguments = _arguments()
    shapes = [
        Shape(shape.epochs, arguments.longer * shape.steps) for shape in (QUICK_SHAPES if arguments.quick else SHAPES)
    ]
    absent = [name for name in arguments.only if CONTENDERS[name].missing]
    names = [name for name in arguments.only if name not in absent]
    about = machine(sorted({package for name in names for package in CONTENDERS[name].packages}))
    failed: dict[str, str] = {}
    with ExitStack() as stack:
        kernels = {name: stack.enter_context(kernel_for(**ENVIRONMENT)) for name in names}
        _warm_up(kernels, failed)
        pairs = _take_turns(kernels, shapes, arguments.repeats, failed)
    names = [name for name in names if name not in failed]
    _report(about, [pair for pair in pairs if pair.name in names], names)
    for name in absent:
        print(f"Left out: {name}, because {', '.join(CONTENDERS[name].missing)} is not installed.")
    for name, reason in failed.items():
        print(f"Left out: {name}, because it failed: {reason}")
    save("dashboard", {"machine": about, "absent": absent, "failed": failed, "pairs": [asdict(pair) for pair in pairs]})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.dashboard", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    choices = [name for name in CONTENDERS if name != NONE]
    parser.add_argument("--quick", action="store_true", help="one repeat of short fits, to see that it works")
    parser.add_argument("--repeats", type=int, default=None, metavar="N", help=f"rounds to run, {REPEATS} by default")
    parser.add_argument("--longer", type=int, default=1, metavar="N", help="make each epoch N times as long")
    parser.add_argument("--only", nargs="+", choices=choices, default=choices, metavar="NAME", help=", ".join(choices))
    arguments = parser.parse_args()
    arguments.repeats = arguments.repeats or (1 if arguments.quick else REPEATS)
    return arguments


def _warm_up(kernels: dict[str, Kernel], failed: dict[str, str]) -> None:
    """Run each contender once: imports, fonts and the first compilation are no cost of watching."""
    for name, kernel in kernels.items():
        progress(f"warming up {name}")
        with _noting(name, failed):
            run_cell(kernel, "from benchmarks.dashboard.measure import measure")
            for one in (NONE, name):
                _measured(kernel, one, QUICK_SHAPES[1], STEP_SECONDS[0])


def _take_turns(kernels: dict[str, Kernel], shapes: list[Shape], repeats: int, failed: dict[str, str]) -> list[Pair]:
    """Return the pairs of all repeats, each in a random order of its own."""
    pairs: list[Pair] = []
    for repeat in range(repeats):
        order = [(name, shape, seconds) for name in kernels for shape in shapes for seconds in STEP_SECONDS]
        for name, shape, seconds in random.sample(order, len(order)):
            if name not in failed:
                with _noting(name, failed):
                    pairs.append(_pair(kernels[name], name, shape, seconds, repeat))
        progress(f"repeat {repeat + 1} of {repeats} done")
    return pairs


@contextmanager
def _noting(name: str, failed: dict[str, str]) -> Iterator[None]:
    """Note why a contender failed, and go on without it."""
    try:
        yield
    except (RuntimeError, TimeoutError) as error:
        failed[name] = str(error).splitlines()[0]


def _pair(kernel: Kernel, name: str, shape: Shape, step_seconds: float, repeat: int) -> Pair:
    """Run a watched fit and a bare one, in random order."""
    found = {one: _measured(kernel, one, shape, step_seconds) for one in random.sample([name, NONE], 2)}
    return Pair(name, shape, step_seconds, repeat, found[name], found[NONE])


def _measured(kernel: Kernel, name: str, shape: Shape, step_seconds: float) -> dict[str, float]:
    cell = run_cell(kernel, f"found = measure({name!r}, {shape.epochs}, {shape.steps}, {step_seconds})")
    found: dict[str, float] = value_of(kernel, "found")
    return found | {f"{phase}_bytes": cell.sent_bytes[phase] for phase in ("start", "loop", "end")}


def _report(about: dict[str, Any], pairs: list[Pair], names: list[str]) -> None:
    print(headline(about))
    for seconds in STEP_SECONDS:
        some = [pair for pair in pairs if pair.step_seconds == seconds]
        shapes = sorted({pair.shape for pair in some}, key=lambda shape: shape.epochs)
        header = [
            "",
            *(f"wall ratio, {shape}" for shape in shapes),
            "CPU µs/batch",
            "CPU ms/epoch",
            "helpers' µs/batch",
        ]
        header += [*(f"KB/min, {shape}" for shape in shapes), "start ms", "end ms"]
        rows = [_row(f"{CONTENDERS[NONE].title}, in all", [pair.alone for pair in some], shapes)]
        rows += [_row(CONTENDERS[name].title, [pair for pair in some if pair.name == name], shapes) for name in names]
        print(f"\nSteps of {1000 * seconds:g} ms\n\n{markdown_table(header, rows)}")
    print()


def _row(title: str, pairs: list[Pair], shapes: list[Shape]) -> list[str]:
    by_shape = [[pair for pair in pairs if pair.shape == shape] for shape in shapes]
    batch, epoch = per_batch_and_epoch([(pair.shape, pair.extra("loop_cpu")) for pair in pairs])
    helpers = statistics.median(pair.extra("loop_helpers") / pair.shape.batches for pair in pairs)
    start, end = (statistics.median(pair.extra(f"{phase}_wall") for pair in pairs) for phase in ("start", "end"))
    return [
        title,
        *(spread([pair.wall_ratio for pair in some]) for some in by_shape),
        f"{1e6 * batch:.0f}",
        f"{1e3 * epoch:.1f}",
        f"{1e6 * helpers:.0f}",
        *(f"{statistics.median(pair.bytes_per_minute for pair in some) / 1000:.0f}" for some in by_shape),
        f"{1e3 * start:.0f}",
        f"{1e3 * end:.0f}",
    ]


if __name__ == "__main__":
    main()
