"""Compare the plan with what others measured on real TPUs and with the peak rates of the chips.

Nothing is measured here: both columns are read, one off the TPU compiler and one off its source. Answers of the compiler
are kept in the user's cache, so that a second run takes seconds.

Usage: ``python -m benchmarks.plan_truth [--quick] [--known] [--only NAME ...]``
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from math import prod
from typing import Any

from .compared import Compared, against, deeper, line
from .plan_models import MODELS
from .plan_steps import CUBE, STREAMED, doubled, matmul, summed
from .published import PUBLISHED, Part, Published
from .report import headline, machine, markdown_table, progress, save

SECONDS = 3600.0
"""Time that one compile may take; a ResNet-50 takes minutes, and more on a machine that does other work."""
WHOLE = "at memory's whole rate"
CHIPS = ("v2-8", "v3-8", "v4-8", "v5e-1", "v5p-8", "v6e-1", "tpu7x-8")
"""A slice of each generation."""


def planned(one: Published, compiler: Any) -> list[Any]:
    """Return the plan's row for each part of what was published."""
    rows = []
    for part in one.parts:
        if part.layers:
            two, four = (_row(one, part, compiler, layer_count=depth) for depth in (2, 4))
            rows.append(deeper(two, four, part.layers))
        else:
            rows.append(_row(one, part, compiler))
    return rows


def _row(one: Published, part: Part, compiler: Any, **shape: int) -> Any:
    import colab_tpu_magic as tpu

    model, x, y = MODELS[part.model](**shape)
    plan = tpu.plan(
        model,
        x,
        y,
        target=one.target,
        batch_sizes=part.batch_size,
        precision=one.precision,
        yes=True,
        seconds=SECONDS,
        advise=False,
        host=False,
        compiler=compiler,
    )
    return plan.row(batch_size=part.batch_size)


def roofline(name: str, compiler: Any) -> tuple[Compared, Any]:
    """Return the rate of a large bfloat16 product in TFLOP/s of one device beside its peak, and the plan's row."""
    from colab_tpu_magic.planner.rows import row_of
    from colab_tpu_magic.planner.targets import target

    slice_ = target(name)
    step = matmul(slice_.devices)
    row = row_of(step, compiler.compile(step, slice_, seconds=SECONDS), slice_)
    peak = slice_.peak_flops / 1e12
    if not row.fits:
        return Compared(name, 0.0, 0.0, peak, row.reason), row
    low, high = (2 * CUBE**3 / 1e12 / seconds for seconds in reversed(row.step_seconds))
    return Compared(name, low, high, peak), row


def streamed(name: str, compiler: Any) -> tuple[float, float, float]:
    """Return the rate in GB/s at which the compiler has one device add and sum large arrays, and that of its memory.

    Raises:
        RuntimeError: When the compiler refuses.
    """
    from colab_tpu_magic.planner.compiler import Refused
    from colab_tpu_magic.planner.targets import target

    slice_ = target(name)
    found = []
    for step, size in ((doubled(slice_.devices), 4), (summed(slice_.devices), 2)):
        answer = compiler.compile(step, slice_, seconds=SECONDS)
        if isinstance(answer, Refused):
            raise RuntimeError(answer.message)
        found.append(size * prod(STREAMED) * slice_.clock_hz / answer.cycles / 1e9)
    return found[0], found[1], slice_.hbm_bytes_per_second / 1e9


def main(argv: Sequence[str] | None = None) -> None:
    """Print two tables, products against peaks and trainings against what was published, and the sources."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the products alone: about a minute")
    parser.add_argument(
        "--known", action="store_true", help="compile nothing; what is not kept from before is left out"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", default=(), help="published rows by their names alone")
    asked = parser.parse_args(argv)
    unknown = set(asked.only) - {one.name for one in PUBLISHED}
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(one.name for one in PUBLISHED)}")

    from colab_tpu_magic.planner.compiler import Cache, Compiler

    about = machine(["libtpu"])
    products, streams, trainings, kept = [], [], [], []
    with Compiler(cache=Cache()) as own:
        compiler: Any = _Kept(own) if asked.known else own
        for name in () if asked.only else CHIPS:
            progress(f"{CUBE}³ on {name}")
            compared, row = roofline(name, compiler)
            products.append([name, *line(compared, 1)[:3]])
            kept.append({**asdict(compared), "row": asdict(row)})
            try:
                streams.append([name, *(f"{rate:,.0f}" for rate in streamed(name, compiler))])
            except RuntimeError as refused:
                streams.append([name, "–", "–", str(refused)])
        for one in () if asked.quick else PUBLISHED:
            if asked.only and one.name not in asked.only:
                continue
            progress(one.name)
            rows = planned(one, compiler)
            compared = against(one, rows)
            trainings.append([one.name, *line(compared), one.date])
            kept.append({**asdict(compared), "rows": [asdict(row) for row in rows]})
            progress(f"  {trainings[-1]}")
    print(headline(about))
    if products:
        print("\n" + markdown_table(["product of 8192³, TFLOP/s per device", "ours", "peak", "ratio"], products))
    if streams:
        print("\n" + markdown_table(["through memory, GB/s per device", "an addition", "a sum", "memory"], streams))
    if trainings:
        print(
            "\n"
            + markdown_table(["training, examples/s", "ours", "published", "ratio", WHOLE, "measured"], trainings)
            + "\n"
        )
        for one in PUBLISHED:
            if any(row[0] == one.name for row in trainings):
                print(f"- {one.name}: {one.worked_out}; {one.source}. Different there: {one.differs}.")
    save("plan_truth", {"about": about, "compared": kept})


class _Kept:
    """A compiler that only remembers."""

    def __init__(self, compiler: Any) -> None:
        self._compiler = compiler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiler, name)

    def compile(self, lowered: Any, target: Any, **_: Any) -> Any:
        """Return the answer that is kept, or a refusal."""
        from colab_tpu_magic.planner.compiler import Refused

        return self._compiler.cached(lowered, target) or Refused("time", "not run")


if __name__ == "__main__":
    main()
