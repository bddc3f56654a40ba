"""The top of the live view as HTML: progress bar, numbers, and a clock that runs without JavaScript."""

from __future__ import annotations

import time
from html import escape

from ..hardware.chips import GIB
from ..hardware.usage import Usage
from ..training.findings import findings
from ..training.run import Run
from ..training.step_time import step_milliseconds
from .facts import step_time_text
from .text import PHASES, batch_text
from .units import duration_text, number_text, rate_text

HEADER_HEIGHT = 150
_CELLS = "display:grid;grid-template-columns:repeat(6,1fr);gap:0 8px;margin:6px 0 4px"
_CUT = "white-space:nowrap;overflow:hidden;text-overflow:ellipsis"
_LINE = f"font-size:12px;line-height:18px;height:18px;{_CUT}"
# Orange and blue of Okabe and Ito: waiting and computing; the words beside the bar say the same.
WAITING_COLOUR, COMPUTING_COLOUR = "#E69F00", "#0072B2"


def header_html(run: Run, steps_per_second: float | None, step_times: tuple[float, float] | None = None) -> str:
    """Return the header of a running training, always of the same height.

    Args:
        run: The run.
        steps_per_second: Training steps a second now, None before it is known.
        step_times: How long a step waits for data and how long it computes now, in milliseconds; None for
            the means of the run.
    """
    elapsed = time.perf_counter() - run.started
    compiling = run.phase == "compiling"
    state = f"<b>{PHASES['compiling']}</b> {clock_svg(elapsed)}" if compiling else f"<b>{_state(run)}</b>"
    cells = _cells(run, steps_per_second)
    numbers = "".join(
        f'<div style="{_CUT}"><div style="font-size:11px;opacity:.75">{label}</div><b>{text}</b></div>'
        for label, text in cells
    )
    times = step_times if step_times is not None else step_milliseconds(run)
    timing, device = _timing(run, times), f"{run.device} · {batch_text(run)}"
    measured, found = " · ".join(timing), findings(run)
    spoken = ", ".join([PHASES.get(run.phase, run.phase), *(f"{label} {text}" for label, text in cells), *timing])
    return (
        f'<div role="group" aria-label="{escape(spoken)}" style="height:{HEADER_HEIGHT}px;max-width:720px;'
        "overflow:hidden;font:13px/1.4 system-ui,-apple-system,Segoe UI,DejaVu Sans,sans-serif;"
        'font-variant-numeric:tabular-nums">'
        f'<div style="{_CUT};height:20px">{state}</div>{_bar(run)}'
        f'<div style="{_CELLS}">{numbers}</div>'
        f'<div style="{_LINE}" title="{escape(measured)}">{_split_bar(times)}{escape(measured)}</div>'
        f'<div style="{_LINE};opacity:.85" title="{escape(device)}">{escape(device)}</div>'
        f"{_finding(found[0]) if found else ''}</div>"
    )


def usage_text(usage: Usage) -> str:
    """Write the memory in use and the work of the TensorCores.

    Example:
        >>> usage_text(Usage(9_100_000_000, 16_000_000_000, 71.2))
        'HBM 9.1 / 16 GB, TensorCore 71 %'
    """
    unit, name = (GIB, "GiB") if usage.hbm_total_bytes % GIB == 0 else (10**9, "GB")
    memory = f"HBM {usage.hbm_used_bytes / unit:.1f} / {usage.hbm_total_bytes / unit:.3g} {name}"
    percent = usage.tensorcore_percent
    return memory if percent is None else f"{memory}, TensorCore {percent:.0f} %"


def _cells(run: Run, steps_per_second: float | None) -> tuple[tuple[str, str], ...]:
    examples = steps_per_second * run.global_batch_size if steps_per_second is not None else None
    of_epoch = f" / {run.steps_per_epoch:,}" if run.steps_per_epoch else ""
    epoch_left, run_left = seconds_left(run, steps_per_second)
    return (
        ("epoch", f"{max(1, run.epoch):,} / {run.epochs:,}"),
        ("step", f"{run.epoch_step:,}{of_epoch}"),
        ("steps/s", number_text(steps_per_second) if steps_per_second is not None else "–"),
        ("examples/s", rate_text(examples, "").removesuffix(" /s")),
        ("epoch left", duration_text(epoch_left) if epoch_left is not None else "–"),
        ("run left", duration_text(run_left) if run_left is not None else "–"),
    )


def _timing(run: Run, times: tuple[float, float] | None) -> list[str]:
    """Return what is known of the step: its time, its compilations, the memory."""
    texts = [step_time_text(*times)] if times is not None else []
    if run.compilations > 1:
        took = f" in {duration_text(run.compiling_seconds)}" if run.compiling_seconds else ""
        texts.append(f"compiled {run.compilations} times{took}")
    elif run.compile_seconds is not None:
        texts.append(f"compiled in {duration_text(run.compiling_seconds or run.compile_seconds)}")
    return [*texts, usage_text(run.usage)] if run.usage is not None else texts


def _split_bar(times: tuple[float, float] | None) -> str:
    whole = sum(times) if times is not None else 0.0
    if times is None or not 0 < whole < float("inf"):
        return ""
    share = 100 * times[0] / whole
    return (
        f'<span role="img" aria-label="{share:.0f} percent waiting for data" style="display:inline-block;width:72px;'
        f"height:8px;border-radius:2px;margin-right:8px;background:linear-gradient(90deg,{WAITING_COLOUR} {share:.0f}%,"
        f'{COMPUTING_COLOUR} {share:.0f}%)"></span>'
    )


def _finding(finding: str) -> str:
    bar = "border-left:3px solid #E69F00;padding-left:8px;margin-top:4px"
    return f'<div role="note" title="{escape(finding)}" style="{_LINE};{bar}">{escape(finding)}</div>'


def seconds_left(run: Run, steps_per_second: float | None) -> tuple[float | None, float | None]:
    """Return the seconds left for the epoch and for the run, None where they are not known.

    The epoch's come from the speed of now; the run's from the mean since the first step, so that
    they include validation.
    """
    if not run.steps_per_epoch or not steps_per_second or run.phase in ("compiling", "paused", "done"):
        return None, None
    epoch_steps = max(0, run.steps_per_epoch - run.epoch_step)
    run_steps = epoch_steps + max(0, run.epochs - run.epoch) * run.steps_per_epoch
    examples = run.overall_examples_per_second()
    mean = examples / run.global_batch_size if examples and run.global_batch_size else steps_per_second
    epoch_left = epoch_steps / steps_per_second if run.phase != "validating" else None
    return epoch_left, run_steps / mean


def clock_svg(elapsed: float) -> str:
    """Return a clock (minutes and seconds) that goes on by itself while the kernel is busy compiling.

    The digits are columns of text that SVG's own animation moves up once per second, ten seconds,
    minute and ten minutes; the front end runs it, no message from the kernel is needed.

    Args:
        elapsed: Seconds already gone, where the clock starts.
    """
    columns = ((0, 6, 600), (8, 10, 60), (20, 6, 10), (28, 10, 1))
    digits = ""
    for x, count, seconds in columns:
        texts = "".join(f'<text x="{x}" y="{13 + 16 * i}">{i}</text>' for i in range(count))
        shifts = ";".join(f"0 {-16 * i}" for i in range(count))
        digits += (
            f'<g>{texts}<animateTransform attributeName="transform" type="translate" calcMode="discrete" '
            f'values="{shifts}" dur="{count * seconds}s" begin="{-elapsed:.1f}s" repeatCount="indefinite"/></g>'
        )
    return (
        '<svg width="38" height="16" viewBox="0 0 38 16" role="img" aria-label="time since the start" '
        'font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="13" fill="currentColor" '
        f'style="overflow:hidden;vertical-align:-3px">{digits}<text x="15" y="12">:</text></svg>'
    )


def _state(run: Run) -> str:
    return escape(PHASES.get(run.phase, run.phase).capitalize())


def _bar(run: Run) -> str:
    total = run.epochs * run.steps_per_epoch if run.steps_per_epoch else 0
    done = max(0, run.epoch - 1) * (run.steps_per_epoch or 0) + run.epoch_step
    if run.phase == "compiling" or not total:
        track = '<div style="width:100%;height:100%;opacity:.45;background:repeating-linear-gradient('
        fill = f'{track}-45deg,#0072B2 0 8px,transparent 8px 16px)"></div>'
    else:
        share = min(1.0, done / total)
        fill = f'<div style="width:{100 * share:.1f}%;height:100%;background:#0072B2"></div>'
    label = f"{100 * done / total:.0f} percent of the run" if total else "running"
    return (
        f'<div role="progressbar" aria-label="{label}" style="height:6px;border-radius:3px;overflow:hidden;'
        f'background:rgba(128,128,128,.25)">{fill}</div>'
    )
