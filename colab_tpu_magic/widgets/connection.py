"""The connection card: what will train, drawn and in numbers, as static HTML and as text."""

from __future__ import annotations

from html import escape

from ..backends.base import CPU, GPU, SIMULATED, TPU, Runtime
from ..hardware.chips import GIB
from ..hardware.slices import PER_REPLICA_BATCH, Slice
from .connection_drawing import drawing_svg

SHOWN_VERSIONS = ("keras", "jax", "jaxlib", "libtpu", "tensorflow", "tensorflow-tpu", "tensorflow-cpu")


def connection_card(runtime: Runtime) -> dict[str, str]:
    """Return the card of a runtime as a MIME bundle.

    A bundle and not a widget, so that it stays in the saved notebook and needs no kernel.

    Args:
        runtime: The connected runtime.

    Returns:
        ``text/html`` (with the drawing as inline SVG) and ``text/plain``.
    """
    return {"text/html": _html(runtime), "text/plain": _text(runtime)}


def card_rows(runtime: Runtime) -> list[tuple[str, str]]:
    """Return the lines of the card's table, each a label and its text."""
    rows = []
    if runtime.slice is not None:
        rows += _chip_rows(runtime.slice)
    rows.append(("Replicas", f"{runtime.replicas:,}{_replica_note(runtime)}"))
    if runtime.kind in (TPU, SIMULATED):
        batch = PER_REPLICA_BATCH * runtime.replicas
        rows.append(("Recommended batch", f"{PER_REPLICA_BATCH} per replica, {batch:,} global"))
    rows.append(("Versions", ", ".join(_versions(runtime))))
    return rows


def bytes_text(count: int) -> str:
    """Write a size of memory for people.

    Example:
        >>> bytes_text(16 * 2**30), bytes_text(16 * 10**9)
        ('16 GiB', '16 GB')
    """
    return f"{count // GIB:,} GiB" if count % GIB == 0 else f"{count / 10**9:,.0f} GB"


def _chip_rows(found: Slice) -> list[tuple[str, str]]:
    chip = found.chip
    cores = found.chips * chip.cores_per_chip
    per_replica = f", {bytes_text(chip.hbm_bytes_per_device)} per replica" if chip.devices_per_chip > 1 else ""
    in_all = f", {chip.peak_bf16_tflops * found.chips:,} in all" if found.chips > 1 else ""
    return [
        ("Chip", f"{found.chips:,} × {chip.title}"),
        ("TensorCores", f"{cores:,} ({chip.cores_per_chip} per chip)"),
        ("Matrix units (MXU)", f"{chip.mxus_per_core} per core, {chip.mxu_size} × {chip.mxu_size}"),
        ("Memory (HBM)", f"{bytes_text(chip.hbm_bytes_per_chip)} per chip{per_replica}"),
        ("Memory bandwidth", f"{chip.hbm_gb_per_s:,} GB/s per chip"),
        ("Peak bfloat16", f"{chip.peak_bf16_tflops:,} TFLOP/s per chip{in_all}"),
    ]


def _replica_note(runtime: Runtime) -> str:
    """Say what a replica is, because a device is not always a chip."""
    if runtime.kind == GPU:
        return " (one per GPU)"
    if runtime.slice is None:
        return " (virtual CPU devices)" if runtime.kind == SIMULATED else ""
    chip = runtime.slice.chip
    if chip.devices_per_chip > 1:
        return f" ({chip.devices_per_chip} per chip, one per TensorCore)"
    return " (one per chip)" if chip.cores_per_chip == 1 else " (one per chip, on both its TensorCores)"


def _versions(runtime: Runtime) -> list[str]:
    packages = runtime.environment.packages
    hidden = "jaxlib" if packages.get("jaxlib") == packages.get("jax") else ""
    found = [f"{name} {packages[name]}" for name in SHOWN_VERSIONS if packages.get(name) and name != hidden]
    return [f"Python {runtime.environment.python}", *found]


def _remark(runtime: Runtime) -> str:
    """Return the sentence that keeps a simulation from being taken for a TPU, or offers one on a bare CPU."""
    if runtime.kind == CPU:
        return "To rehearse a TPU on it with eight virtual replicas, type: %tpu_connect --simulate v2-8"
    if runtime.kind != SIMULATED:
        return ""
    figures = f"the chip figures are those of a real {runtime.slice.name}; " if runtime.slice is not None else ""
    return f"A rehearsal on this machine's CPU: {figures}nothing here measures a TPU."


def _source(runtime: Runtime) -> str:
    if runtime.slice is None:
        return ""
    return f"Chip figures: {runtime.slice.chip.source}, read {runtime.slice.chip.as_of}."


def _text(runtime: Runtime) -> str:
    rows = card_rows(runtime)
    width = max(len(label) for label, _ in rows)
    lines = [runtime.headline, _remark(runtime), *(f"  {label:<{width}}  {text}" for label, text in rows)]
    lines.append(f"  {_source(runtime)}" if runtime.slice is not None else "")
    lines += [f"  Warning: {warning}" for warning in runtime.warnings]
    return "\n".join(line for line in lines if line)


def _html(runtime: Runtime) -> str:
    rows = "".join(
        '<tr style="background:none"><th scope="row" style="text-align:left;font-weight:normal;opacity:.75;'
        f'width:1%;padding:2px 14px 2px 0;white-space:nowrap;vertical-align:top">{escape(label)}</th>'
        f'<td style="text-align:left;padding:2px 0">{escape(text)}</td></tr>'
        for label, text in card_rows(runtime)
    )
    remark, source = escape(_remark(runtime)), escape(_source(runtime))
    # The word and the bar say "warning"; the colour only helps.
    warnings = [
        '<div role="note" style="border-left:4px solid #E69F00;padding:2px 0 2px 10px;margin-top:8px">'
        f"<b>Warning:</b> {escape(warning)}</div>"
        for warning in runtime.warnings
    ]
    border = "dashed" if runtime.kind == SIMULATED else "solid"
    return (
        f'<div style="border:1px {border} rgba(128,128,128,.6);border-radius:8px;padding:12px 16px;max-width:880px;'
        'color:inherit;font:13px/1.45 system-ui,-apple-system,Segoe UI,DejaVu Sans,sans-serif">'
        f'<div style="font-size:19px;font-weight:600;margin-bottom:4px">{escape(runtime.headline)}</div>'
        f'<div style="margin-bottom:10px">{remark}</div>'
        f'<div style="display:flex;flex-wrap:wrap;gap:8px 28px;align-items:flex-start">{drawing_svg(runtime)}'
        f'<table style="border-collapse:collapse;border:none;margin:0;table-layout:auto;color:inherit;'
        f'font-size:13px;flex:1 1 360px"><tbody>{rows}'
        f'</tbody></table></div><div style="opacity:.75;margin-top:8px">{source}</div>{"".join(warnings)}</div>'
    )
