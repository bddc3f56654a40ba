"""Give a step from TensorFlow the random generator that TensorFlow takes on a TPU.

Asked with no platform, TensorFlow's compiler answers as for a CPU, where it takes Philox with a state of three numbers.
Anywhere but on a CPU and a GPU it takes the device's own generator, of which the state is two. JAX writes no such
operation.

Source: tf2xla's DefaultRngAlgForDeviceType and StatelessRngUniformV2 (2026).
"""

from __future__ import annotations

from typing import Any

NAME = "stablehlo.rng_bit_generator"


def take_the_devices_own(operation: Any) -> None:
    """Let an operation that draws random bits with Philox draw them with the device's own generator.

    Only where its state is not used again afterwards: the two states differ in shape.
    """
    from jaxlib.mlir import ir

    state, bits = operation.results
    of_three = str(state.type) == "tensor<3xui64>"
    if "PHILOX" not in str(operation.attributes["rng_algorithm"]) or not of_three or any(True for _ in state.uses):
        return
    short = ir.Type.parse("tensor<2xui64>")
    with ir.InsertionPoint(operation), operation.location:
        begin = ir.Operation.create(
            "stablehlo.slice",
            results=[short],
            operands=[operation.operands[0]],
            attributes={
                "start_indices": ir.DenseI64ArrayAttr.get([0]),
                "limit_indices": ir.DenseI64ArrayAttr.get([2]),
                "strides": ir.DenseI64ArrayAttr.get([1]),
            },
        )
        drawn = ir.Operation.create(
            NAME,
            results=[short, bits.type],
            operands=[begin.results[0]],
            attributes={"rng_algorithm": ir.Attribute.parse("#stablehlo<rng_algorithm DEFAULT>")},
        )
    bits.replace_all_uses_with(drawn.results[1])
    operation.erase()
