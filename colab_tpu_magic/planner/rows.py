"""Make a row of a plan of what the compiler answered: times, rates, memory, what bounds the step."""

from __future__ import annotations

from collections.abc import Iterable

from ..hardware.chips import GIB
from .interconnect import collective_times
from .layers import shares
from .module import BATCH, OPTIMIZER, PARAMETER, STATE, Lowered
from .results import Compiled, Cost, Refused, Unestimated
from .row import FITS, OUT_OF_MEMORY, REFUSED, MemoryParts, Row
from .targets import Target

MIB = 2**20
BOUND = 0.5
"""Part of a peak rate from which the step is said to be held up by it."""
COLLECTIVES = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "collective-permute", "collective-broadcast")


def row_of(lowered: Lowered, answer: Compiled | Refused, target: Target, cached: bool = False) -> Row:
    """Return what an answer of the compiler means.

    Args:
        lowered: The step; its artifact is not looked at.
        answer: What the compiler made of it.
        target: The slice it was compiled for.
        cached: Whether the answer was known before.
    """
    if isinstance(answer, Refused):
        return refused_row(lowered, answer, target, cached)
    memory = memory_parts(lowered, answer)
    device = answer.cycles / target.clock_hz
    sent = collective_times(answer.unestimated, target)
    collective = sum(one.seconds for one in sent)
    estimated = device > 0
    others = sum(one.moved for one in answer.unestimated if one.opcode not in COLLECTIVES) / target.hbm_bytes_per_second
    slow = device + collective + others
    moved = sum(cost.moved * cost.trips for cost in answer.costs) + sum(one.moved for one in answer.unestimated)
    full_rate = full_memory_rate_seconds(answer.costs, target)
    hbm = moved / target.hbm_bytes_per_second / (full_rate + others) if estimated else 0.0
    utilisation = lowered.flops / target.devices / (target.peak_flops * device) if estimated else 0.0
    parts = shares(answer.costs, lowered.layers, lowered.optimizer)
    return Row(
        target=target.name,
        batch_size=lowered.batch_size,
        precision=lowered.precision,
        status=FITS,
        devices=target.devices,
        memory=memory,
        needed_bytes=memory.needed,
        allowed_bytes=target.hbm_bytes,
        step_seconds=(device, slow) if estimated else (0.0, 0.0),
        examples_per_second=(lowered.batch_size / slow, lowered.batch_size / device) if estimated else (0.0, 0.0),
        device_seconds=device,
        collective_seconds=collective,
        collective_model="; ".join(f"{one.opcode}: {one.model}" for one in sent),
        flops=lowered.flops,
        mxu_utilisation=utilisation,
        hbm_bytes_moved=moved if estimated else 0.0,
        full_memory_rate_seconds=full_rate,
        bound=_bound(utilisation, hbm) if estimated else "",
        layers=parts.layers,
        optimizer_share=parts.optimizer,
        loss_share=parts.loss,
        unnamed_share=parts.unnamed,
        unestimated=unestimated_kinds(answer.unestimated),
        compile_seconds=0.0 if cached else answer.seconds,
        cached=cached,
        notes=(*_unread(answer), *answer.notes, *lowered.remarks),
    )


def refused_row(lowered: Lowered, refused: Refused, target: Target, cached: bool = False) -> Row:
    """Return the row of a step that the compiler did not take."""
    full = refused.kind == "out-of-memory"
    return Row(
        target=target.name,
        batch_size=lowered.batch_size,
        precision=lowered.precision,
        status=OUT_OF_MEMORY if full else REFUSED,
        reason=refused.message,
        devices=target.devices,
        needed_bytes=refused.needed_bytes if full else 0,
        allowed_bytes=(refused.allowed_bytes or target.hbm_bytes) if full else target.hbm_bytes,
        flops=lowered.flops,
        cached=cached,
        notes=lowered.remarks,
    )


def full_memory_rate_seconds(costs: Iterable[Cost], target: Target) -> float:
    """Return the time of instructions, of which those without a product take no longer than their bytes at HBM's rate.

    Those that move nothing through HBM, and those with a product, keep the compiler's estimate.
    """
    seconds = 0.0
    for cost in costs:
        estimated = cost.cycles / target.clock_hz
        moved = cost.moved / target.hbm_bytes_per_second
        seconds += cost.trips * (estimated if cost.product or not moved else min(estimated, moved))
    return seconds


def memory_parts(lowered: Lowered, compiled: Compiled) -> MemoryParts:
    """Return what one device's memory is needed for.

    What the step is given is counted from its shapes and scaled to the compiler's sum, which has the padding of
    the layouts in it; the activations are what the peak has beyond.
    """
    memory = compiled.memory
    given = {role: lowered.bytes_per_device(role) for role in (PARAMETER, OPTIMIZER, STATE, BATCH)}
    plain = sum(given.values())
    factor = memory.argument / plain if plain else 0.0
    scaled = {role: round(size * factor) for role, size in given.items()}
    return MemoryParts(
        parameters=scaled[PARAMETER],
        optimizer=scaled[OPTIMIZER],
        state=scaled[STATE],
        batch=scaled[BATCH],
        activations=max(0, memory.peak - sum(scaled.values())),
        code=memory.code,
    )


def unestimated_kinds(unestimated: tuple[Unestimated, ...]) -> tuple[str, ...]:
    """Return the kinds of instruction without an estimate, most bytes first.

    Example:
        >>> unestimated_kinds((Unestimated("all-reduce", "", 2, 3 * MIB), Unestimated("sort", "", 1, 2048)))
        ('2 all-reduce (3.0 MiB)', '1 sort (2.0 KiB)')
    """
    sums: dict[str, tuple[float, int]] = {}
    for one in unestimated:
        runs, size = sums.get(one.opcode, (0.0, 0))
        sums[one.opcode] = (runs + one.runs, size + one.bytes)
    ordered = sorted(sums.items(), key=lambda item: -item[1][1])
    return tuple(f"{runs:,.0f} {opcode} ({size_text(size)})" for opcode, (runs, size) in ordered)


def size_text(size: float) -> str:
    """Return bytes for people: ``"52.0 MiB"``.

    Example:
        >>> size_text(3 * GIB), size_text(512)
        ('3.00 GiB', '512 B')
    """
    for unit, name, digits in ((GIB, "GiB", 2), (MIB, "MiB", 1), (1024, "KiB", 1)):
        if size >= unit:
            return f"{size / unit:,.{digits}f} {name}"
    return f"{size:.0f} B"


def _bound(mxu: float, hbm: float) -> str:
    """Return which of two rates holds a step up, given what part of each peak it reaches."""
    if mxu >= BOUND:
        return "MXU"
    return "HBM" if hbm >= BOUND else "neither"


def _unread(answer: Compiled) -> tuple[str, ...]:
    if not answer.as_text_failed:
        return ()
    return (f"No times: the compiled step could not be read ({answer.text_error}). Memory and FLOPs stand.",)
