"""The drawing on the connection card: chips, the TensorCores in them, and the replicas over those."""

from __future__ import annotations

from html import escape

from ..backends.base import CPU, GPU, SIMULATED, TPU, Runtime

MAX_DRAWN = 16
"""Most boxes in the drawing; the rest is a number below it."""

_BOX_WIDTH, _BOX_HEIGHT, _GAP, _LEGEND_WIDTH = 80, 62, 10, 200
# Okabe and Ito's blue, see-through: told apart by colour-blind people, on light and on dark pages.
_REPLICA = "fill:#0072B2;fill-opacity:.32;stroke:#0072B2;stroke-width:1.5"
_CORE = "fill:none;stroke:currentColor;stroke-opacity:.45"
_CHIP = "fill:#808080;fill-opacity:.1;stroke:currentColor;stroke-opacity:.5"


def drawing_svg(runtime: Runtime) -> str:
    """Return chips with their cores and replicas as SVG, or one box a device; nothing for a bare CPU."""
    found = runtime.slice
    if found is None and runtime.kind == CPU:
        return ""
    count = found.chips if found is not None else runtime.replicas
    noun = "chip" if found is not None else {GPU: "GPU", TPU: "TPU device"}.get(runtime.kind, "virtual CPU device")
    drawn = min(count, MAX_DRAWN)
    columns = min(drawn, 4)
    boxes = []
    for index in range(drawn):
        x, y = index % columns * (_BOX_WIDTH + _GAP), index // columns * (_BOX_HEIGHT + _GAP)
        boxes.append(f'<g transform="translate({x + 1} {y + 1})">{_box(runtime, index)}</g>')
    width = max(columns * (_BOX_WIDTH + _GAP) - _GAP + 2, _LEGEND_WIDTH)
    height = -(-drawn // columns) * (_BOX_HEIGHT + _GAP) + 14
    legend = _legend(count, drawn, noun)
    label = f"{_many(count, noun)}, {_many(runtime.replicas, 'replica')}: {runtime.headline}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(label)}" font-family="system-ui, sans-serif" font-size="11" '
        f'fill="currentColor" style="max-width:100%;flex:none">{"".join(boxes)}'
        f'<text x="1" y="{height - 5}" opacity=".8">{escape(legend)}</text></svg>'
    )


def _box(runtime: Runtime, index: int) -> str:
    """Draw one chip: its replicas filled, its TensorCores outlined inside them."""
    chip = runtime.slice.chip if runtime.slice is not None else None
    devices, cores = (chip.devices_per_chip, chip.cores_per_device) if chip is not None else (1, 0)
    title = f"chip {index}" if chip is not None else {GPU: f"GPU {index}"}.get(runtime.kind, f"device {index}")
    dashes = ";stroke-dasharray:4 3" if runtime.kind == SIMULATED else ""
    wide = (_BOX_WIDTH - 8 - 4 * (devices - 1)) / devices
    parts = [
        f'<rect width="{_BOX_WIDTH - 2}" height="{_BOX_HEIGHT - 2}" rx="6" style="{_CHIP}"/>',
        f'<text x="7" y="14">{title}</text>',
    ]
    for device in range(devices):
        x = 3 + device * (wide + 4)
        parts.append(
            f'<rect x="{x:g}" y="20" width="{wide:g}" height="36" rx="3" style="{_REPLICA}{dashes}"/>'
            f'<text x="{x + wide / 2:g}" y="{50 if cores else 42}" text-anchor="middle">R{index * devices + device}</text>'
        )
        core_wide = (wide - 6 - 3 * (cores - 1)) / cores if cores else 0
        parts += [
            f'<rect x="{x + 3 + core * (core_wide + 3):g}" y="24" width="{core_wide:g}" height="13" style="{_CORE}"/>'
            for core in range(cores)
        ]
    return "".join(parts)


def _legend(count: int, drawn: int, noun: str) -> str:
    more = f"and {count - drawn:,} more {noun}s · " if count > drawn else ""
    cores = "inner box = TensorCore · " if noun == "chip" else ""
    return f"{more}{cores}R = replica"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
