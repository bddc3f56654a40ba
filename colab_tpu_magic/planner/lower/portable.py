"""Lay a StableHLO module out over devices, and write it in the portable form that the compiler's process reads.

Private to jaxlib and touched only here and in `flops`: ``jaxlib.mlir``. Tried with jaxlib 0.7.2 and 0.10.2, and with the text
that TensorFlow 2.20 and 2.21 write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..module import Argument

# Read by the pinned compiler (its own is 1.17.0), and writable by the oldest jaxlib that is supported (1.13.0 in 0.7.2).
STABLEHLO_VERSION = "1.10.0"
MODULE_NAME = "train_step"
NAMED = re.compile(r'loc\(("(?:[^"\\]|\\.)*")\((#loc\d*)\)\)$')
PLACE = re.compile(r'loc\("(?:[^"\\]|\\.)*":\d+:\d+(?: to (?:\d*):\d+)?\)')
# What may go when nobody uses it: what costs anything, and what leads to it.
PURE = {"mhlo.copy"} | {
    f"stablehlo.{name}"
    for name in (
        "abs add and broadcast_in_dim clamp compare complex concatenate constant convert convolution divide dot "
        "dot_general dynamic_slice dynamic_update_slice exponential gather iota log logistic maximum minimum multiply "
        "negate not or pad power reduce reduce_window reshape reverse rsqrt scatter select select_and_scatter sign slice "
        "sort sqrt subtract tanh transpose xor"
    ).split()
}
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
    return "\n".join(_name_alone(line) for line in text.split("\n"))


def _name_alone(line: str) -> str:
    defined = DEFINITION.match(line)
    if defined is None:
        return line
    name, value = defined.groups()
    named = NAMED.search(value)
    if named is not None:
        return f"{name} = loc({named.group(1)})"
    if PLACE.fullmatch(value) or value.startswith(("loc(callsite", "loc(fused")):
        return f"{name} = loc(unknown)"
    return line


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
        for region in function.operation.regions:
            for block in region.blocks:
                for one in reversed(list(block.operations)):
                    operation = one.operation
                    if operation.name == "mhlo.copy":
                        operation.results[0].replace_all_uses_with(operation.operands[0])
                    if operation.name in PURE and not any(True for result in operation.results for _ in result.uses):
                        operation.erase()
