"""Lay a StableHLO module out over devices, and write it in the portable form that the compiler's process reads.

Private to jaxlib: ``jaxlib.mlir``, and ``jaxlib._jax.mlir`` here alone. Tried with jaxlib 0.7.2 and 0.10.2, and with what
TensorFlow 2.20 and 2.21 write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..module import Argument
from . import generator

# Read by the pinned compiler (its own is 1.17.0), and writable by the oldest jaxlib that is supported (1.13.0 in 0.7.2).
STABLEHLO_VERSION = "1.10.0"
MODULE_NAME = "train_step"
NAMED = re.compile(r'loc\(("(?:[^"\\]|\\.)*")(?:\(#loc\d*\))?\)$')
REFERENCE = re.compile(r"#loc\d*")
PLACE = re.compile(r'loc\("(?:[^"\\]|\\.)*":\d+:\d+(?: to (?:\d*):\d+)?\)')
# What may not go though nobody uses it; every other operation of StableHLO only makes its results.
KEPT = frozenset(
    f"stablehlo.{name}"
    for name in (
        "after_all all_gather all_reduce all_to_all case collective_broadcast collective_permute composite custom_call if "
        "infeed outfeed partition_id recv reduce_scatter replica_id return rng send while"
    ).split()
)
DEFINITION = re.compile(r"^(#loc\d*) = (.*)$")


@contextmanager
def context() -> Iterator[Any]:
    """Enter an MLIR context that knows the dialects that both backends write."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, mhlo, stablehlo

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    made = ir.Context()
    made.append_dialect_registry(registry)
    stablehlo.register_dialect(made)
    chlo.register_dialect(made)
    mhlo.register_mhlo_dialect(made)
    made.load_all_available_dialects()
    with made, ir.Location.unknown():
        yield made


def text_of(module: bytes) -> str:
    """Return an HLO module in its serialized form as StableHLO in text, with locations."""
    from jaxlib import _jax
    from jaxlib.mlir import ir

    with context():
        return ir.Module.parse(_jax.mlir.hlo_to_stablehlo(module)).operation.get_asm(enable_debug_info=True)


def main_of(module: Any) -> Any:
    """Return the function that the module's caller calls."""
    for operation in module.body.operations:
        if operation.operation.name == "func.func" and operation.name.value == "main":
            return operation
    raise ValueError("The module has no function main.")


def without_places(text: str) -> str:
    """Keep of the locations in a module's text the names alone.

    Files and lines are of the machine that lowered, and would make equal steps differ.

    Example:
        >>> without_places('#loc2 = loc("dense/dot"(#loc1))')
        '#loc2 = loc("dense/dot")'
    """
    lines = text.split("\n")
    defined = {found.group(1): found.group(2) for line in lines if (found := DEFINITION.match(line)) is not None}
    return "\n".join(_name_alone(line, defined) for line in lines)


def _name_alone(line: str, defined: Mapping[str, str]) -> str:
    found = DEFINITION.match(line)
    if found is None:
        return line
    name = _name_of(found.group(2), defined)
    return f"{found.group(1)} = loc({name or 'unknown'})"


def _name_of(location: str, defined: Mapping[str, str]) -> str:
    """Return the name in a location, with its quotes; "" for a place in a file and for a stack of calls."""
    if PLACE.fullmatch(location) or location.startswith("loc(callsite"):
        return ""
    if location.startswith("loc(fused"):  # what TensorFlow writes: the name, and a place in its own files
        parts = (_name_of(defined.get(part, ""), defined) for part in REFERENCE.findall(location))
        return next((name for name in parts if name), "")
    named = NAMED.match(location)
    return "" if named is None else named.group(1)


def laid_out(
    text: str, arguments: Sequence[Argument], aliases: Mapping[int, int], devices: int
) -> tuple[bytes, float, int]:
    """Return a module in portable form, its batch divided over the devices, and what `flops_of` says of one run.

    Args:
        text: The module as text, with locations.
        arguments: What the arguments of its ``main`` are, in order.
        aliases: For each donated argument's place the place of the output that takes its memory.
        devices: Devices that one run is divided over.
    """
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    from .flops import flops_of

    with context():
        module = ir.Module.parse(without_places(text))
        _tidy(module)
        number = ir.IntegerType.get_signless(32)
        _name_module(module, devices, number)
        main = main_of(module)
        given, returned = list(main.type.inputs), list(main.type.results)
        if len(given) != len(arguments):
            raise ValueError(f"The module takes {len(given)} arguments, and {len(arguments)} are known.")
        main.arg_attrs = ir.ArrayAttr.get(
            [_attributes(argument, aliases.get(place), devices, number) for place, argument in enumerate(arguments)]
        )
        replicated = {"mhlo.sharding": ir.StringAttr.get("{replicated}")} if devices > 1 else {}
        main.result_attrs = ir.ArrayAttr.get([ir.DictAttr.get(replicated) for _ in returned])
        counted = flops_of(module)  # before the module becomes its portable form
        return stablehlo.serialize_portable_artifact(module, STABLEHLO_VERSION, allow_other_dialects=True), *counted


def _name_module(module: Any, devices: int, number: Any) -> None:
    from jaxlib.mlir import ir

    attributes = module.operation.attributes
    for name in [one if isinstance(one, str) else one.name for one in attributes]:
        del attributes[name]
    attributes["sym_name"] = ir.StringAttr.get(MODULE_NAME)
    attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(number, devices)
    attributes["mhlo.num_replicas"] = ir.IntegerAttr.get(number, 1)


def _attributes(argument: Argument, output: int | None, devices: int, number: Any) -> Any:
    from jaxlib.mlir import ir

    said: dict[str, Any] = {}
    if devices > 1:
        split = ",".join([str(devices), *["1"] * (len(argument.shape) - 1)])
        text = f"{{devices=[{split}]<=[{devices}]}}" if argument.sharded else "{replicated}"
        said["mhlo.sharding"] = ir.StringAttr.get(text)
    if output is not None:
        said["tf.aliasing_output"] = ir.IntegerAttr.get(number, output)
    return ir.DictAttr.get(said)


def _tidy(module: Any) -> None:
    """Take out what no output needs, and the copies that TensorFlow makes; the portable form has no such operation."""
    for function in module.body.operations:
        _tidy_inside(function.operation)


def _tidy_inside(holder: Any) -> None:
    for region in holder.regions:
        for block in region.blocks:
            for one in reversed(list(block.operations)):
                operation = one.operation
                if operation.name == "mhlo.copy":
                    operation.results[0].replace_all_uses_with(operation.operands[0])
                if _may_go(operation) and not any(True for result in operation.results for _ in result.uses):
                    operation.erase()
                elif operation.name == generator.NAME:
                    generator.take_the_devices_own(operation)
                else:
                    _tidy_inside(operation)


def _may_go(operation: Any) -> bool:
    return operation.name == "mhlo.copy" or (operation.name.startswith("stablehlo.") and operation.name not in KEPT)
