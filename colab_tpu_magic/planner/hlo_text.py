"""Read the text of a compiled module: its computations, their instructions, and what the planner needs of each."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..errors import TpuMagicError

NO_ESTIMATE = 2**63 - 1
"""What the compiler writes where it has no estimate."""

_HEADER = re.compile(r"(ENTRY )?%([^\s(]+) \(.*\) -> .* \{$")
_START = re.compile(r"\s+(ROOT )?%(\S+) = ")
_OPCODE = re.compile(r"\s*([a-z][a-z0-9\-]*)\(")
_NAME = re.compile(r"%([\w.\-]+)")
ARRAY = re.compile(r"\b([a-z]+\d*[a-z0-9]*)\[([\d,<=]*)\]")
"""An array's type of numbers and its sizes, in a type's text."""
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_BITS = {"pred": 8, "token": 0, "opaque": 0}
_CLOSED_BY = {"(": ")", "{": "}", "[": "]"}


class HloTextError(TpuMagicError, ValueError):
    """A compiled module whose text has a form that is not known here."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"The compiler's text cannot be read: {what}.",
            expected="the forms that libtpu 0.0.42 writes; memory and FLOPs are told without it.",
        )


@dataclass(frozen=True)
class Instruction:
    """One instruction of a computation.

    Attributes:
        name: Its name in the module.
        shape: Type of its result: ``"f32[8,128]{1,0:T(8,128)}"``, or a tuple's in parentheses.
        opcode: What it does: ``"fusion"``.
        operands: The text between its parentheses: names, or a constant's value.
        attributes: The text behind them.
        root: Whether it is its computation's result.
    """

    name: str
    shape: str
    opcode: str
    operands: str
    attributes: str
    root: bool = False

    @cached_property
    def operand_names(self) -> tuple[str, ...]:
        """Names of the instructions that it takes."""
        return tuple(_NAME.findall(self.operands))

    @cached_property
    def op_name(self) -> str:
        """Where it comes from, ``""`` where the compiler does not tell."""
        found = _OP_NAME.search(self.attributes)
        return re.sub(r"\\(.)", r"\1", found.group(1)) if found else ""

    @cached_property
    def cycles(self) -> int | None:
        """The compiler's estimate of one run, None where it has none."""
        config = self._backend_config()
        found = (config.get("window_config") or {}).get("estimated_cycles", config.get("estimated_cycles"))
        value = int(found) if found is not None else NO_ESTIMATE
        return None if value == NO_ESTIMATE or value < 0 else value

    @cached_property
    def arriving(self) -> str:
        """Type of its result; of an asynchronous start, of what arrives."""
        parts = tuple_parts(self.shape)
        if self.opcode.endswith("-start") and len(parts) > 1:
            # copy-start holds (to, from, …), an all-reduce-start its results, the others ((operands), result, …).
            if self.opcode == "copy-start":
                return parts[0]
            if self.opcode != "all-reduce-start":
                return parts[1]
        return self.shape

    @cached_property
    def bytes(self) -> int:
        """Bytes of `arriving`, without padding."""
        return shape_bytes(self.arriving)

    def called(self, key: str) -> tuple[str, ...]:
        """Return the computations that an attribute names: ``calls``, ``body``, ``branch_computations``, …"""
        found = re.search(rf"\b{key}=(%[\w.\-]+|\{{[^}}]*\}})", self.attributes)
        return tuple(_NAME.findall(found.group(1))) if found else ()

    def attribute(self, key: str) -> str:
        """Return the word that an attribute has: ``direction``, ``index``, ``custom_call_target``; else ``""``."""
        found = re.search(rf'\b{key}="?([\w.\-$]+)', self.attributes)
        return found.group(1) if found else ""

    def _backend_config(self) -> dict[str, Any]:
        at = self.attributes.find("backend_config=")
        if at < 0:
            return {}
        try:
            read, _ = json.JSONDecoder().raw_decode(self.attributes, at + len("backend_config="))
        except ValueError as error:
            raise HloTextError(f"the configuration of {self.name} is no JSON") from error
        return read if isinstance(read, dict) else {}


@dataclass(frozen=True)
class Computation:
    """A list of instructions in the order they run."""

    name: str
    instructions: tuple[Instruction, ...]
    by_name: dict[str, Instruction] = field(repr=False)

    @property
    def root(self) -> Instruction:
        """The instruction whose result is the computation's."""
        return next((one for one in self.instructions if one.root), self.instructions[-1])

    @cached_property
    def users(self) -> dict[str, list[Instruction]]:
        """The instructions that take each one's result, in the order they run."""
        found: dict[str, list[Instruction]] = {}
        for one in self.instructions:
            for operand in one.operand_names:
                found.setdefault(operand, []).append(one)
        return found


@dataclass(frozen=True)
class Module:
    """The computations of a compiled module."""

    computations: dict[str, Computation]
    entry: str

    def __getitem__(self, name: str) -> Computation:
        try:
            return self.computations[name]
        except KeyError:
            raise HloTextError(f"no computation is called {name}") from None


def parse(text: str) -> Module:
    """Return the module that the text of a compiled program tells.

    Raises:
        HloTextError: When a line has a form that is not known.

    Example:
        >>> text = "HloModule f\\n\\nENTRY %main (x: f32[8]) -> f32[8] {\\n  ROOT %x = f32[8]{0} parameter(0)\\n}\\n"
        >>> parse(text)["main"].root.opcode
        'parameter'
    """
    computations: dict[str, Computation] = {}
    lines: list[Instruction] = []
    entry, name, table = "", "", False
    for number, line in enumerate(text.splitlines(), 1):
        if name and line.startswith("}"):
            if not lines:
                raise HloTextError(f"computation {name} is empty")
            computations[name] = Computation(name, tuple(lines), {one.name: one for one in lines})
            name, lines = "", []
        elif name:
            if line.strip():
                lines.append(parse_instruction(line, number))
        elif header := _HEADER.match(line):
            name, table = header.group(2), False
            entry = name if header.group(1) else entry
        elif line in _TABLES:
            table = True
        elif line.strip() and not line.startswith("HloModule ") and not (table and line.lstrip()[0].isdigit()):
            raise HloTextError(f"line {number} starts {line[:60]!r}")
    if name or not entry:
        raise HloTextError("it has no end" if name else "it has no entry computation")
    return Module(computations, entry)


def parse_instruction(line: str, number: int = 0) -> Instruction:
    """Return the instruction that one line tells.

    Raises:
        HloTextError: When it is none.
    """
    start = _START.match(line)
    if start is None:
        raise HloTextError(f"line {number} is no instruction: {line[:80].strip()!r}")
    begin = start.end()
    end = _closing(line, begin, number) if line.startswith("(", begin) else line.find(" ", begin)
    opcode = _OPCODE.match(line, end) if end > 0 else None
    if opcode is None:
        raise HloTextError(f"line {number} has no operation: {line[:80].strip()!r}")
    close = _closing(line, opcode.end() - 1, number)
    return Instruction(
        start.group(2),
        line[begin:end],
        opcode.group(1),
        line[opcode.end() : close - 1],
        line[close:],
        bool(start.group(1)),
    )


def tuple_parts(shape: str) -> tuple[str, ...]:
    """Return the parts of a tuple's type, or the type itself where it is no tuple.

    Example:
        >>> tuple_parts("(f32[8]{0}, (s32[], u8[2,4]{1,0}))")
        ('f32[8]{0}', '(s32[], u8[2,4]{1,0})')
    """
    if not shape.startswith("("):
        return (shape,)
    parts, depth, begin = [], 0, 1
    for at, letter in enumerate(shape):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        if (letter == "," and depth == 1) or (letter == ")" and depth == 0):
            parts.append(re.sub(r"/\*.*?\*/", "", shape[begin:at]).strip())
            begin = at + 1
    return tuple(part for part in parts if part)


def shape_bytes(shape: str) -> int:
    """Return the bytes of a type, all parts of a tuple, without the padding of its layout.

    Raises:
        HloTextError: When a number type is not known.

    Example:
        >>> shape_bytes("(bf16[8,128]{1,0:T(8,128)(2,1)}, pred[3]{0})")
        2051
    """
    total = 0
    for kind, sizes in ARRAY.findall(shape):
        elements = 1
        for size in re.findall(r"\d+", sizes):
            elements *= int(size)
        total += -(-elements * bits_of(kind) // 8)
    return total


def bits_of(kind: str) -> int:
    """Return the bits of one number of a type.

    Raises:
        HloTextError: When the type is not known.

    Example:
        >>> bits_of("bf16"), bits_of("pred")
        (16, 8)
    """
    if kind in _BITS:
        return _BITS[kind]
    found = re.match(r"(?:bf|[sufc])(\d+)", kind)
    if found is None:
        raise HloTextError(f"{kind!r} is no type of numbers")
    return int(found.group(1))


def _closing(line: str, begin: int, number: int) -> int:
    """Return the place behind the bracket that closes the one at ``begin``; quoted text is passed over."""
    stack, at = [], begin
    while at < len(line):
        letter = line[at]
        if letter == '"':
            at += 1
            while at < len(line) and line[at] != '"':
                at += 2 if line[at] == "\\" else 1
        elif letter in _CLOSED_BY:
            stack.append(_CLOSED_BY[letter])
        elif stack and letter == stack[-1]:
            stack.pop()
            if not stack:
                return at + 1
        at += 1
    raise HloTextError(f"line {number} has a bracket that is not closed")
