"""Compare how fast rows reach the device: the article's tf.data pipeline, Keras, tf.data, grain and ours.

Every way shuffles 60,000 (or 50,000) rows and gives batches of 1,024 to a device, as Keras on that backend
would take them. The ways take turns, each in a process of its own that stands still in between; a figure is the
median of the rounds, a ratio is to another way in the same round. "tensorflow-replicas" is one device with malloc set as
TensorFlow sets it when a strategy of several replicas, such as a TPU's, gives its first batch.

Usage: ``python -m benchmarks.pipeline [--quick] [--rounds N] [--only BACKEND ...]``
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

from .pipeline_turns import Turns, running_ways, serve
from .report import headline, machine, markdown_table, progress, save, spread

REPLICAS = "tensorflow-replicas"
BACKENDS = ("jax", "tensorflow", REPLICAS)
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
    """Measure on each backend, each way in a process of its own, and print a table."""
    arguments = _arguments()
    if arguments.inside:
        return serve(arguments.inside, malloc_of_replicas=arguments.only == [REPLICAS])
    about = machine(["grain"])
    found: dict[str, Any] = {}
    for backend in arguments.only:
        with running_ways(backend, TITLES) as running:
            found[backend] = {kind: _measured(running, kind, arguments, backend) for kind in GOALS}
    print(headline(about))
    for backend, kinds in found.items():
        print(f"\n{backend}\n\n{table(backend, kinds)}")
    save("pipeline", {"machine": about, "found": found})


def _measured(running: dict[str, Turns], kind: str, arguments: argparse.Namespace, backend: str) -> dict[str, Any]:
    progress(f"{backend}: {kind}")
    for way in running.values():  # the first pass fills caches and compiles
        way.turn(kind, max(0.05, 3 * arguments.seconds))
    found: dict[str, Any] = {name: [] for name in running} | {"cpu": {name: [] for name in running}}
    names = list(running)
    for turn in range(arguments.rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            rate, worked = running[name].turn(kind, arguments.seconds)
            found[name].append(rate)
            found["cpu"][name].append(worked)
    found["batches_held"] = running["ours"].turn(kind, 0.0)[0]
    return found


def table(backend: str, kinds: dict[str, Any]) -> str:
    """Return a Markdown table of one backend: thousands of rows a second, and what ours is to each.

    Args:
        backend: One of `BACKENDS`.
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
    goal = times if way == "article" else share[backend.split("-")[0]] if way == "memory" and share else None
    goal = 1.0 if way in ("keras", "grain") else goal
    return "" if goal is None else f", goal {goal:g}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.pipeline", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it works")
    parser.add_argument("--rounds", type=int, default=None, metavar="N", help=f"{ROUNDS} by default")
    parser.add_argument("--seconds", type=float, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="+", choices=BACKENDS, default=list(BACKENDS), metavar="BACKEND")
    parser.add_argument("--inside", metavar="WAY", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (QUICK_ROUNDS if arguments.quick else ROUNDS)
    arguments.seconds = arguments.seconds or (QUICK_SECONDS if arguments.quick else SECONDS)
    return arguments


if __name__ == "__main__":
    main()
