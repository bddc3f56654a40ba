"""Compare how fast rows reach the device: the article's tf.data pipeline, Keras, tf.data, grain and ours.

Every way shuffles 60,000 (or 50,000) rows and gives batches of 1,024 to a device, as Keras on that backend
would take them. The ways take turns; a figure is the median of the rounds, a ratio is to another way in
the same round.

Usage: ``python -m benchmarks.pipeline [--quick] [--rounds N] [--only BACKEND ...]``
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from .report import ROOT, headline, machine, markdown_table, progress, save, spread

BACKENDS = ("jax", "tensorflow")
ROUNDS, SECONDS = 7, 0.3
QUICK_ROUNDS, QUICK_SECONDS = 1, 0.05
GOALS = {  # times the article; the share of the memory limit is asked for float32 only
    "28×28 uint8": (8.0, None),
    "28×28 float32": (5.0, {"jax": 0.8, "tensorflow": 0.7}),
    "32×32×3 float32": (3.5, {"jax": 0.8, "tensorflow": 0.7}),
}
TITLES = {
    "article": "the article's tf.data",
    "keras": "Keras' array adapter",
    "tf.data": "tf.data, bulk gather",
    "grain": "grain, bulk gather",
    "ours": "**ours**",
    "memory": "memory limit",
}


def main() -> None:
    """Measure on each backend, in a process of its own, and print a table."""
    arguments = _arguments()
    if arguments.inside:
        print(json.dumps(_inside(arguments)), flush=True)
        os._exit(0)  # threads of tf.data may still run, and do not like an interpreter that ends
    about = machine(["grain"])
    found: dict[str, Any] = {}
    for backend in arguments.only:
        command = [sys.executable, "-m", "benchmarks.pipeline", "--inside", backend]
        command += ["--rounds", str(arguments.rounds), "--seconds", str(arguments.seconds)]
        environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        found[backend] = json.loads(done.stdout.splitlines()[-1])
    print(headline(about))
    for backend, kinds in found.items():
        print(f"\n{backend}\n\n{table(backend, kinds)}")
    save("pipeline", {"machine": about, "found": found})


def table(backend: str, kinds: dict[str, Any]) -> str:
    """Return a Markdown table of one backend: thousands of rows a second, and what ours is to each.

    Args:
        backend: ``"jax"`` or ``"tensorflow"``.
        kinds: For each kind of data the rows a second of each way, round by round, ``cpu`` and ``batches_held``.
    """
    header = ["rows/s, thousands", *kinds]
    rows = []
    for way, title in TITLES.items():
        if all(way in one for one in kinds.values()):
            rows.append([title, *(f"{statistics.median(one[way]) / 1000:,.0f}" for one in kinds.values())])
    for way in TITLES:
        if way != "ours" and all(way in one for one in kinds.values()):
            ratios = [[a / b for a, b in zip(one["ours"], one[way])] for one in kinds.values()]
            rows.append(
                [
                    f"ours ÷ {TITLES[way]}",
                    *(f"{spread(one)}{_goal(backend, kind, way)}" for kind, one in zip(kinds, ratios)),
                ]
            )
    for way, title in TITLES.items():
        if all(way in one["cpu"] for one in kinds.values()):
            middles = [1024 * statistics.median(one["cpu"][way]) for one in kinds.values()]
            rows.append([f"CPU µs a batch: {title}", *(f"{middle:,.0f}" for middle in middles)])
    rows.append(["batches held at most", *(f"{one['batches_held']:.2f}" for one in kinds.values())])
    return markdown_table(header, rows)


def _goal(backend: str, kind: str, way: str) -> str:
    times, share = GOALS[kind]
    goal = times if way == "article" else share[backend] if way == "memory" and share else None
    goal = 1.0 if way in ("keras", "grain") else goal
    return "" if goal is None else f", goal {goal:g}"


def _inside(arguments: argparse.Namespace) -> dict[str, Any]:
    from .pipelines import data_kinds, held_batches, ways

    found: dict[str, Any] = {}
    for kind, (x, y) in data_kinds().items():
        progress(f"{arguments.inside}: {kind}")
        running = {name: make(x, y) for name, make in ways(arguments.inside).items()}
        for batches in running.values():  # the first pass fills caches and compiles
            rows_per_second(batches, max(0.05, 3 * arguments.seconds))
        found[kind] = {name: [] for name in running} | {"cpu": {name: [] for name in running}}
        for turn in range(arguments.rounds):
            names = list(running)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                rate, worked = rows_per_second(running[name], arguments.seconds)
                found[kind][name].append(rate)
                found[kind]["cpu"][name].append(worked)
        running.clear()
        found[kind]["batches_held"] = held_batches(arguments.inside, x, y)
    return found


def rows_per_second(batches: Iterator[int], seconds: float, skip: int = 6) -> tuple[float, float]:
    """Return how many rows a second come out of an iterator that is resumed, and their CPU time in µs a row.

    Args:
        batches: Yields the number of rows of each batch.
        seconds: How long to take batches.
        skip: Batches that may have been made while others had their turn.
    """
    for _ in range(skip):
        next(batches)
    rows, began, worked = 0, time.perf_counter(), time.process_time()
    while (passed := time.perf_counter() - began) < seconds or not rows:
        rows += next(batches)
    return rows / passed, 1e6 * (time.process_time() - worked) / rows


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.pipeline", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it works")
    parser.add_argument("--rounds", type=int, default=None, metavar="N", help=f"{ROUNDS} by default")
    parser.add_argument("--seconds", type=float, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="+", choices=BACKENDS, default=list(BACKENDS), metavar="BACKEND")
    parser.add_argument("--inside", choices=BACKENDS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (QUICK_ROUNDS if arguments.quick else ROUNDS)
    arguments.seconds = arguments.seconds or (QUICK_SECONDS if arguments.quick else SECONDS)
    return arguments


if __name__ == "__main__":
    main()
