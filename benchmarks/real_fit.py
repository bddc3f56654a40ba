"""Compare a real fit under `%%tpu_fit`, with and without the dashboard, with plain `model.fit`.

Each fit has a fresh kernel and the same replicas, batch size and epochs. The ways take turns in random
order; a figure is the median of the repeats, a ratio is to the plain fit of the same repeat.

Usage: ``python -m benchmarks.real_fit [--quick] [--repeats N] [--only RUNTIME ...]``
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from .cells import kernel_for, run_cell, value_of
from .report import headline, machine, markdown_table, progress, save, spread

SECONDS = 5.0
QUICK_SECONDS = 1.0
REPEATS = 5
TRIAL_EPOCHS = 4
ROWS, BATCH_SIZE = 16_384, 128
STEPS = ROWS // BATCH_SIZE

SETUP = """
%load_ext colab_tpu_magic
%tpu_connect --backend {backend} --simulate {replicas}
import colab_tpu_magic as tpu
from benchmarks.small_fit import Clock, generated_digits, network

x, y = generated_digits({rows})
clock = Clock({steps})
"""
PLAIN_CELL = """
with tpu.runtime.scope():
    model = network()
    model.fit(x, y, batch_size={batch_size}, epochs={epochs}, verbose=0, callbacks=[clock])
"""
# The rules that would change the work are off, so that what is left is the price of watching and feeding.
OPTIONS = "--batch-size keep --learning-rate keep --steps-per-execution keep"
OUR_CELL = """%%tpu_fit {options}
model = network()
model.fit(x, y, batch_size={batch_size}, epochs={epochs}, callbacks=[clock])
"""
PLAIN = "plain"
WAYS = {
    PLAIN: ("model.fit(verbose=0)", PLAIN_CELL),
    "quiet": ("%%tpu_fit --quiet", OUR_CELL.replace("{options}", f"--quiet {OPTIONS}")),
    "dashboard": ("%%tpu_fit", OUR_CELL.replace("{options}", OPTIONS)),
}


@dataclass(frozen=True)
class Setting:
    """Where a fit runs.

    Attributes:
        backend: ``"jax"`` or ``"tensorflow"``.
        replicas: Simulated replicas.
    """

    backend: str
    replicas: int

    def __str__(self) -> str:
        """Return the name that the command line takes."""
        return f"{self.backend}-{self.replicas}"


SETTINGS = {str(one): one for one in (Setting("jax", 1), Setting("jax", 8), Setting("tensorflow", 1))}


def main() -> None:
    """Measure every way on every runtime and print a table."""
    arguments = _arguments()
    about = machine()
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name in arguments.only:
        setting = SETTINGS[name]
        trial = fit_once(setting, PLAIN, TRIAL_EPOCHS)
        epochs = epochs_for(arguments.seconds, trial)
        found[name] = defaultdict(list)
        for repeat in range(arguments.repeats):
            for way in random.sample(list(WAYS), len(WAYS)):
                found[name][way].append(fit_once(setting, way, epochs))
            progress(f"{name}: repeat {repeat + 1} of {arguments.repeats} done, {epochs} epochs each")
    header = ["", "steps/s", "time ratio", "CPU ratio", "cell s", "last loss"]
    print(headline(about))
    for name, ways in found.items():
        rows = [_row(WAYS[way][0], ways[way], ways[PLAIN]) for way in WAYS]
        print(f"\n{name}\n\n{markdown_table(header, rows)}")
    save("real_fit", {"machine": about, "found": found})


def fit_once(setting: Setting, way: str, epochs: int) -> dict[str, Any]:
    """Run one fit in a kernel of its own and return what its clock read.

    Args:
        setting: Where it runs.
        way: A key of `WAYS`.
        epochs: Epochs to train.
    """
    with kernel_for(JAX_PLATFORMS="cpu") as kernel:
        run_cell(kernel, SETUP.format(backend=setting.backend, replicas=setting.replicas, rows=ROWS, steps=STEPS))
        run_cell(kernel, "import time; start = time.perf_counter()")
        cell = run_cell(kernel, WAYS[way][1].format(epochs=epochs, batch_size=BATCH_SIZE))
        reading: dict[str, Any] = value_of(kernel, "clock.reading() | {'cell_seconds': time.perf_counter() - start}")
    return reading | {"sent_bytes": sum(cell.sent_bytes.values())}


def epochs_for(seconds: float, trial: dict[str, Any]) -> int:
    """Return how many epochs take at least that long after the first, going by the fastest epoch of a trial."""
    return 1 + max(TRIAL_EPOCHS, math.ceil(seconds / (STEPS * trial["fastest_step_seconds"])))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.real_fit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one repeat of short fits, to see that it works")
    parser.add_argument("--repeats", type=int, default=None, metavar="N", help=f"rounds to run, {REPEATS} by default")
    names = list(SETTINGS)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="RUNTIME", help=", ".join(names))
    arguments = parser.parse_args()
    arguments.repeats = arguments.repeats or (1 if arguments.quick else REPEATS)
    arguments.seconds = QUICK_SECONDS if arguments.quick else SECONDS
    return arguments


def _row(title: str, readings: list[dict[str, Any]], plain: list[dict[str, Any]]) -> list[str]:
    def ratios(figure: str) -> list[float]:
        return [one[figure] / other[figure] for one, other in zip(readings, plain)]

    return [
        title,
        f"{1 / statistics.median(one['step_seconds'] for one in readings):.0f}",
        spread(ratios("step_seconds")),
        spread(ratios("step_cpu_seconds")),
        f"{statistics.median(one['cell_seconds'] for one in readings):.1f}",
        f"{statistics.median(one['loss'] for one in readings):.4f}",
    ]


if __name__ == "__main__":
    main()
