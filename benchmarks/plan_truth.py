"""Compare the plan with what others measured on real TPUs and with the peak rates of the chips.

Nothing is measured here: both columns are read, one off the TPU compiler and one off its source. Answers of the compiler
are kept in the user's cache, so that a second run takes seconds.

Usage: ``python -m benchmarks.plan_truth [--quick] [--known] [--only NAME ...]``
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .plan_models import CUBE, MODELS, matmul
from .published import PUBLISHED, Published
from .report import headline, machine, markdown_table, progress, save

SECONDS = 3600.0
"""Time that one compile may take; a ResNet-50 takes minutes, and more on a machine that does other work."""
CLOSE = 0.25
"""Ours is close where it is within this part of what was published."""
CHIPS = ("v2-8", "v3-8", "v4-8", "v5e-1", "v5p-8", "v6e-1", "tpu7x-8")
"""A slice of each generation."""


@dataclass(frozen=True)
class Compared:
    """A published figure and ours.

    Attributes:
        name: What was compared.
        low: Ours with collectives and what has no estimate added, in the published figure's unit; 0 when refused.
        high: Ours by the compiler's estimate alone.
        published: The published figure.
        said: Why there is none of ours, or ``""``.
    """

    name: str
    low: float
    high: float
    published: float
    said: str = ""

    @property
    def ratio(self) -> float:
        """Ours, the lower end, as a multiple of what was published."""
        return self.low / self.published

    @property
    def close(self) -> bool:
        """Whether the two are within 25 % of each other."""
        return abs(self.ratio - 1) <= CLOSE


def rate(parts: Sequence[tuple[int, int, float]]) -> float:
    """Return the rows a second of a training of several kinds of step.

    Args:
        parts: Of each kind the rows of a step, how many steps there are, and the seconds that one takes.

    Example:
        >>> rate([(512, 9, 1.0), (512, 1, 3.0)])
        426.6666666666667
    """
    return sum(rows * steps for rows, steps, _ in parts) / sum(steps * seconds for _, steps, seconds in parts)


def against(one: Published, rows: Sequence[Any]) -> Compared:
    """Return a published figure beside ours.

    Args:
        one: What was published.
        rows: The plan's row for each of its parts.
    """
    refused = next((row for row in rows if not row.fits), None)
    if refused is not None:
        return Compared(one.name, 0.0, 0.0, one.examples_per_second, refused.reason)
    low, high = (
        rate([(part.batch_size, part.steps, row.step_seconds[end]) for part, row in zip(one.parts, rows, strict=True)])
        for end in (1, 0)
    )
    return Compared(one.name, low, high, one.examples_per_second)


def planned(one: Published, compiler: Any) -> list[Any]:
    """Return the plan's row for each part of what was published."""
    import colab_tpu_magic as tpu

    rows = []
    for part in one.parts:
        model, x, y = MODELS[part.model]()
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
        rows.append(plan.row(batch_size=part.batch_size))
    return rows


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


def line(one: Compared, digits: int = 0) -> list[str]:
    """Return the cells of a comparison: ours, published, ratio."""
    if one.said:
        return ["–", f"{one.published:,.{digits}f}", one.said]
    ours = f"{one.low:,.{digits}f}"
    if f"{one.high:,.{digits}f}" != ours:
        ours += f"–{one.high:,.{digits}f}"
    return [ours, f"{one.published:,.{digits}f}", f"{one.ratio:.2f}"]


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
    products, trainings, kept = [], [], []
    with Compiler(cache=Cache()) as own:
        compiler: Any = _Kept(own) if asked.known else own
        for name in () if asked.only else CHIPS:
            progress(f"{CUBE}³ on {name}")
            compared, row = roofline(name, compiler)
            products.append([name, *line(compared, 1)])
            kept.append({**asdict(compared), "row": asdict(row)})
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
    if trainings:
        print(
            "\n" + markdown_table(["training, examples/s", "ours", "published", "ratio", "measured"], trainings) + "\n"
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
