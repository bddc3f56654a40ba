"""Work out what an instruction of a compiled step reads from the device's memory (HBM) and writes to it."""

from __future__ import annotations

import re

from .hlo_text import ARRAY, Computation, Instruction, Module, bits_of, tuple_parts

DEEP = 8
"""Fusions within fusions that are looked into; what is deeper is taken to be read whole."""

_LAYOUT = re.compile(r"\{([\d,]*)(?::(\S*))?\}")
_TILE = re.compile(r"T\(([\d,]+)\)")
_SPACE = re.compile(r"S\((\d+)\)")
_PRODUCTS = frozenset({"convolution", "dot"})
# Of their first operand they read what they give; an update in place reads none of it.
_PARTS = frozenset({"dynamic-slice", "slice", "gather"})
_IN_PLACE = "dynamic-update-slice"
_OTHER_NAMES = frozenset({"bitcast", "reshape"})


def moved_bytes(module: Module, computation: Computation, one: Instruction) -> int:
    """Return the bytes that one run of an instruction reads from and writes to HBM, padding of the layouts included.

    What the compiler keeps in the core's own memory (``S(1)`` in a layout, on v5 and later) moves nothing. Of an array
    that is cut, or written to in place, the part counts.

    Args:
        module: The compiled module.
        computation: The computation that the instruction is in.
        one: An instruction that is no loop, branch or call.
    """
    inner = _inner(module, one)
    written = 0
    for part, root in _results(one, inner):
        # Of an update in place, what is written is the update.
        update = _update(inner, root) if inner is not None else _update(computation, one)
        written += hbm_bytes(part) if update is None else min(hbm_bytes(part), _padded(update.shape))
    read = 0
    for operand in dict.fromkeys(one.operand_names):
        source = computation.by_name.get(operand)
        whole = hbm_bytes(source.shape) if source is not None else 0
        if whole:
            read += min(whole, _read(module, one, operand, whole, 0))
    return written + read


def has_product(module: Module, one: Instruction, depth: int = 0) -> bool:
    """Return whether an instruction multiplies matrices, which the MXU does."""
    inner = _inner(module, one)
    if inner is None or depth > DEEP:
        return one.opcode in _PRODUCTS
    return any(has_product(module, part, depth + 1) for part in inner.instructions)


def hbm_bytes(shape: str) -> int:
    """Return the bytes that a type takes in HBM, padding included; what is kept elsewhere takes none.

    Example:
        >>> hbm_bytes("f32[10]{0:T(128)}"), hbm_bytes("f32[10]{0:T(128)S(1)}"), hbm_bytes("f32[9,10]{0,1:T(8,128)}")
        (512, 0, 8192)
    """
    return sum(_array_bytes(match, False) for match in ARRAY.finditer(shape))


def _padded(shape: str) -> int:
    return sum(_array_bytes(match, True) for match in ARRAY.finditer(shape))


def _array_bytes(match: re.Match[str], everywhere: bool) -> int:
    sizes = [int(size) for size in re.findall(r"\d+", match.group(2))]
    layout = _LAYOUT.match(match.string, match.end())
    order, tiling = (layout.group(1), layout.group(2) or "") if layout else ("", "")
    space = _SPACE.search(tiling)
    if space and space.group(1) != "0" and not everywhere:
        return 0
    tile = _TILE.search(tiling)
    if tile:
        # The layout names axes from the one whose numbers lie side by side; the tile is written the other way round.
        for axis, length in zip(map(int, filter(None, order.split(","))), map(int, reversed(tile.group(1).split(",")))):
            sizes[axis] = -(-sizes[axis] // length) * length
    elements = 1
    for size in sizes:
        elements *= size
    return -(-elements * bits_of(match.group(1)) // 8)


def _read(module: Module, one: Instruction, operand: str, whole: int, depth: int) -> int:
    """Return how much of one operand an instruction reads, at most ``whole`` bytes."""
    first = bool(one.operand_names) and one.operand_names[0] == operand and operand not in one.operand_names[1:]
    if one.opcode.removesuffix("-start") in _PARTS and first:
        return _padded(one.arriving)
    if one.opcode == _IN_PLACE and first:
        return 0
    inner = _inner(module, one)
    if inner is None or depth > DEEP:
        return whole
    read = 0
    for number, name in enumerate(one.operand_names):
        if name == operand:
            read += _read_within(module, inner, _parameter(inner, number), whole, depth + 1)
    return min(whole, read)


def _read_within(module: Module, inner: Computation, name: str, whole: int, depth: int) -> int:
    read = 0
    for user in inner.users.get(name, ()):
        if user.opcode in _OTHER_NAMES and depth <= DEEP:
            read += _read_within(module, inner, user.name, whole, depth + 1)
        else:
            read += _read(module, user, name, whole, depth)
        if read >= whole:
            return whole
    # What is given on as it came is read.
    return read if inner.users.get(name) else whole


def _parameter(inner: Computation, number: int) -> str:
    found = (one.name for one in inner.instructions if one.opcode == "parameter" and one.operands == str(number))
    return next(found, "")


def _results(one: Instruction, inner: Computation | None) -> list[tuple[str, Instruction | None]]:
    """Return each array that an instruction gives, and what makes it inside a fusion."""
    parts = tuple_parts(one.arriving)
    if inner is None:
        return [(part, None) for part in parts]
    root = inner.root
    if root.opcode != "tuple":
        return [(parts[0], root), *((part, None) for part in parts[1:])]
    roots = [inner.by_name.get(name) for name in root.operand_names]
    return [(part, roots[place] if place < len(roots) else None) for place, part in enumerate(parts)]


def _update(computation: Computation, one: Instruction | None) -> Instruction | None:
    """Return what an update in place writes; None for everything else."""
    while one is not None and one.opcode in _OTHER_NAMES and one.operand_names:
        one = computation.by_name.get(one.operand_names[0])
    if one is None or one.opcode != _IN_PLACE or len(one.operand_names) < 2:
        return None
    return computation.by_name.get(one.operand_names[1])


def _inner(module: Module, one: Instruction) -> Computation | None:
    names = one.called("calls") if one.opcode == "fusion" else ()
    return module[names[0]] if names else None
