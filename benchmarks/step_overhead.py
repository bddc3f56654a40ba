"""Compare the steps a second of a tiny model under `%%tpu_fit` with bare `model.fit`, on the same runtime.

The step itself is next to nothing, so what is left is what Python does for each. The ways take turns; a figure
is the median of the rounds, a ratio is to the bare fit, or to the best number of steps per execution, of the
same round.

Usage: ``python -m benchmarks.step_overhead [--quick] [--rounds N] [--only RUNTIME ...]``
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from typing import Any

from .report import ROOT, headline, machine, markdown_table, progress, save, spread

RUNTIMES = ("jax-1", "jax-8", "tensorflow-1")
ROUNDS, EPOCHS, STEPS = 3, 5, 256
QUICK_ROUNDS, QUICK_EPOCHS, QUICK_STEPS = 1, 2, 64
BATCH, WIDTH = 32, 16
GROUPS = (1, 4, 16, 64)
BARE, AUTO = "bare", "auto"


def main() -> None:
    """Measure on each runtime, in a process of its own, and print a table."""
    arguments = _arguments()
    if arguments.inside:
        print(json.dumps(measured(arguments.inside, arguments.rounds, arguments.epochs, arguments.steps)))
        return
    about = machine()
    found: dict[str, Any] = {}
    for name in arguments.only:
        progress(name)
        command = [sys.executable, "-m", "benchmarks.step_overhead", "--inside", name]
        for option in ("rounds", "epochs", "steps"):
            command += [f"--{option}", str(getattr(arguments, option))]
        environment = os.environ | {"KERAS_BACKEND": name.split("-")[0], "JAX_PLATFORMS": "cpu"}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        found[name] = json.loads(done.stdout.splitlines()[-1])
    print(f"{headline(about)}\n\n{table(found)}")
    save("step_overhead", {"machine": about, "found": found})


def table(found: dict[str, dict[str, list[float]]]) -> str:
    """Return a Markdown table of steps a second of each way, and the two ratios that matter.

    Args:
        found: For each runtime the steps a second of each way, round by round.
    """
    header = ["steps/s", "bare fit", *(f"ours, {group} at once" for group in GROUPS), "ours, auto", "ours ÷ bare at 1"]
    rows = []
    for name, ways in found.items():
        figures = [f"{statistics.median(ways[way]):,.0f}" for way in (BARE, *map(str, GROUPS), AUTO)]
        ratios = [a / b for a, b in zip(ways["1"], ways[BARE])]
        best = [max(group) for group in zip(*(ways[str(group)] for group in GROUPS))]
        rows.append([name, *figures, spread(ratios), spread([a / b for a, b in zip(ways[AUTO], best)])])
    return markdown_table([*header, "auto ÷ best"], rows)


def measured(name: str, rounds: int, epochs: int, steps: int) -> dict[str, list[float]]:
    """Return the steps a second of each way, round by round; run in a process of its own."""
    import keras
    import numpy as np

    import colab_tpu_magic as tpu

    backend, replicas = name.split("-")
    runtime = tpu.connect(backend=backend, simulate=int(replicas))
    from .small_fit import Clock

    rows = BATCH * steps
    x, y = np.random.default_rng(0).random((rows, WIDTH), "float32"), np.zeros((rows, 1), "float32")

    def network() -> Any:
        model = keras.Sequential([keras.Input((WIDTH,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile="auto" if backend == "jax" else False)
        return model

    def once(way: str) -> float:
        clock = Clock(steps)
        if way == BARE:
            with runtime.scope():
                if runtime.replicas > 1:
                    keras.distribution.set_distribution(runtime.engine.distribution)  # type: ignore[attr-defined]
                network().fit(x, y, batch_size=BATCH, epochs=epochs, verbose=0, callbacks=[clock])
                if runtime.replicas > 1:
                    keras.distribution.set_distribution(None)
        else:
            group = way if way == AUTO else int(way)
            options = tpu.FitOptions(
                batch_size="keep", learning_rate="keep", steps_per_execution=group, quiet=True, no=("jit-compile",)
            )
            tpu.fit(network(), x, y, batch_size=BATCH, epochs=epochs, callbacks=[clock], options=options)
        return 1 / float(clock.reading()["fastest_step_seconds"])

    ways = [BARE, *map(str, GROUPS), AUTO]
    found: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(rounds):
        for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
            found[way].append(once(way))
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.step_overhead", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it works")
    parser.add_argument("--rounds", type=int, default=None, metavar="N", help=f"{ROUNDS} by default")
    parser.add_argument("--only", nargs="+", choices=RUNTIMES, default=list(RUNTIMES), metavar="RUNTIME")
    for hidden in ("epochs", "steps"):
        parser.add_argument(f"--{hidden}", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--inside", choices=RUNTIMES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (QUICK_ROUNDS if arguments.quick else ROUNDS)
    arguments.epochs = arguments.epochs or (QUICK_EPOCHS if arguments.quick else EPOCHS)
    arguments.steps = arguments.steps or (QUICK_STEPS if arguments.quick else STEPS)
    return arguments


if __name__ == "__main__":
    main()
