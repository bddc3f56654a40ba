"""Count the floating-point operations of a StableHLO module: dot products and convolutions, loops by their trips.

A multiplication and an addition are two. Of a convolution only the positions count where a kernel meets an element of
the input: neither padding nor the holes that a dilation leaves. Of the branches of a conditional the dearest counts.
"""

from __future__ import annotations

from math import prod
from typing import Any

from .trips import trips_of


def flops_of(module: Any) -> tuple[float, int]:
    """Return the floating-point operations of one run of a module's ``main``.

    Returns:
        The operations, and how many loops with any in them count once because nobody knows how often they run.
    """
    functions = {one.name.value: one for one in module.body.operations if one.operation.name == "func.func"}
    counter = _Counter(functions)
    return counter.of_function("main"), counter.uncounted


class _Counter:
    """Counts functions once each, however often they are called."""

    def __init__(self, functions: dict[str, Any]) -> None:
        self._functions = functions
        self._counted: dict[str, float] = {}
        self.uncounted = 0

    def of_function(self, name: str) -> float:
        if name not in self._counted:
            body = self._functions[name].operation.regions[0]
            self._counted[name] = self.of_region(body)
        return self._counted[name]

    def of_region(self, region: Any) -> float:
        return sum(self.of(operation.operation) for block in region.blocks for operation in block.operations)

    def of(self, operation: Any) -> float:
        name = operation.name
        if name in ("stablehlo.dot_general", "stablehlo.dot"):
            return _dot(operation)
        if name == "stablehlo.convolution":
            return _convolution(operation)
        if name == "func.call":
            return self.of_function(operation.attributes["callee"].value)
        if name == "stablehlo.composite":
            return self.of_function(operation.attributes["decomposition"].value)
        inside = [self.of_region(region) for region in operation.regions]
        if not any(inside):
            return 0.0
        if name == "stablehlo.while":
            trips = trips_of(operation, self._functions)
            self.uncounted += trips is None
            return sum(inside) * (1 if trips is None else trips)
        if name in ("stablehlo.case", "stablehlo.if"):
            return max(inside)
        return sum(inside)


def _shape(value: Any) -> list[int]:
    from jaxlib.mlir import ir

    return list(ir.RankedTensorType(value.type).shape)


def _dot(operation: Any) -> float:
    left = _shape(operation.operands[0])
    contracted = [left[-1]]
    if operation.name == "stablehlo.dot_general":
        from jaxlib.mlir.dialects import stablehlo

        numbers = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
        contracted = [left[axis] for axis in numbers.lhs_contracting_dimensions]
    return 2.0 * prod(_shape(operation.results[0])) * prod(contracted)


def _convolution(operation: Any) -> float:
    from jaxlib.mlir.dialects import stablehlo

    numbers = stablehlo.ConvDimensionNumbers(operation.attributes["dimension_numbers"])
    given, kernel = _shape(operation.operands[0]), _shape(operation.operands[1])
    made = _shape(operation.results[0])
    rank = len(numbers.input_spatial_dimensions)
    strides = _integers(operation, "window_strides", [1] * rank)
    padding = _integers(operation, "padding", [0] * 2 * rank)
    given_holes = _integers(operation, "lhs_dilation", [1] * rank)
    kernel_holes = _integers(operation, "rhs_dilation", [1] * rank)
    meetings = 1
    for axis in range(rank):
        meetings *= _meetings(
            given[numbers.input_spatial_dimensions[axis]],
            kernel[numbers.kernel_spatial_dimensions[axis]],
            made[numbers.output_spatial_dimensions[axis]],
            strides[axis],
            padding[2 * axis],
            given_holes[axis],
            kernel_holes[axis],
        )
    rows = made[numbers.output_batch_dimension] * made[numbers.output_feature_dimension]
    return 2.0 * rows * kernel[numbers.kernel_input_feature_dimension] * meetings


def _meetings(given: int, kernel: int, made: int, stride: int, before: int, given_holes: int, kernel_holes: int) -> int:
    """Return how many pairs of an output and a kernel position along one axis meet an element of the input."""
    import numpy as np

    places = np.arange(made)[:, None] * stride - before + np.arange(kernel)[None, :] * kernel_holes
    inside = (places >= 0) & (places <= (given - 1) * given_holes) & (places % given_holes == 0)
    return int(inside.sum())


def _integers(operation: Any, name: str, default: list[int]) -> list[int]:
    if name not in operation.attributes:
        return default
    attribute = operation.attributes[name]
    if name == "padding":
        return (
            [int(number) for number in attribute]
            if not attribute.is_splat
            else [int(attribute.get_splat_value().value)] * len(default)
        )
    return [int(number) for number in attribute]
