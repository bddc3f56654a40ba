"""Single operations that a chip's peak rates are compared on: a large product, and arrays that stream through memory."""

from __future__ import annotations

from typing import Any

CUBE = 8192
"""Rows and columns of the matrices of the roofline."""

STREAMED = (128, 56, 56, 256)
"""Shape of the bfloat16 array that is streamed through memory: what a ResNet-50 normalises on each of 8 devices."""

_PRODUCT = """
module {{
  func.func public @main(%x: tensor<{n}x{n}xbf16>, %w: tensor<{n}x{n}xbf16>) -> tensor<{n}x{n}xbf16> {{
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<{n}x{n}xbf16>, tensor<{n}x{n}xbf16>) -> tensor<{n}x{n}xbf16>
    return %0 : tensor<{n}x{n}xbf16>
  }}
}}
"""
_DOUBLED = """
module {{
  func.func public @main(%x: {kind}) -> {kind} {{
    %0 = stablehlo.add %x, %x : {kind}
    return %0 : {kind}
  }}
}}
"""
_SUMMED = """
module {{
  func.func public @main(%x: {kind}) -> tensor<{last}xf32> {{
    %0 = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.convert %x : ({kind}) -> {wide}
    %2 = stablehlo.reduce(%1 init: %0) applies stablehlo.add across dimensions = [0, 1, 2]
      : ({wide}, tensor<f32>) -> tensor<{last}xf32>
    return %2 : tensor<{last}xf32>
  }}
}}
"""


def matmul(devices: int, n: int = CUBE) -> Any:
    """Return the product of two square bfloat16 matrices as a step to compile, all of it on every device."""
    return _on_every_device(_PRODUCT.format(n=n), ((n, n), (n, n)), devices)


def doubled(devices: int) -> Any:
    """Return a step that reads and writes an array once: four bytes a value."""
    return _on_every_device(_DOUBLED.format(kind=_kind("bf16")), (STREAMED,), devices)


def summed(devices: int) -> Any:
    """Return a step that sums an array over all axes but the last, as a normalisation does: two bytes a value."""
    text = _SUMMED.format(kind=_kind("bf16"), wide=_kind("f32"), last=STREAMED[-1])
    return _on_every_device(text, (STREAMED,), devices)


def _kind(values: str) -> str:
    return f"tensor<{'x'.join(map(str, STREAMED))}x{values}>"


def _on_every_device(text: str, shapes: tuple[tuple[int, ...], ...], devices: int) -> Any:
    from colab_tpu_magic.planner.lower.portable import laid_out
    from colab_tpu_magic.planner.module import BATCH, Argument, Lowered

    arguments = tuple(Argument(f"x{place}", BATCH, shape, "bfloat16") for place, shape in enumerate(shapes))
    artifact, flops, _ = laid_out(text, arguments, {}, devices)
    # Each device does all of it, and a plan counts what all devices do.
    return Lowered(artifact, devices, arguments, (), flops * devices, batch_size=devices, backend="jax")
