"""Small steps for the compiler, as portable StableHLO: exported from JAX, or written out by hand."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """A module and the devices it is for: as much of a lowered step as the compiler asks for."""

    artifact: bytes
    devices: int = 1

    def digest(self) -> str:
        """Return what tells it from others."""
        return hashlib.sha256(self.artifact).hexdigest()


def step_of(function: Callable[..., Any], *shapes: tuple[Any, ...], donate: tuple[int, ...] = ()) -> Step:
    """Return a function of arrays, lowered for one TPU.

    Args:
        function: What to lower.
        shapes: Of each argument, ``(shape, dtype)``.
        donate: Numbers of the arguments whose memory an output may take.
    """
    import jax
    from jax import export

    specs = [jax.ShapeDtypeStruct(*shape) for shape in shapes]
    exported = export.export(jax.jit(function, donate_argnums=donate), platforms=["tpu"])(*specs)
    return Step(bytes(exported.mlir_module_serialized))


def step_from_text(text: str, devices: int = 1) -> Step:
    """Return StableHLO that was written by hand as a step."""
    from jaxlib.mlir.dialects import stablehlo

    return Step(bytes(stablehlo.serialize_portable_artifact_str(text, "1.8.0")), devices)


def matmul(rows: int = 256, inner: int = 512, columns: int = 384) -> Step:
    """Return one matrix product: ``2 · rows · inner · columns`` operations."""
    return step_of(lambda x, w: x @ w, ((rows, inner), "float32"), ((inner, columns), "float32"))


def recurrent(steps: int, units: int = 256) -> Step:
    """Return a recurrence of some steps and its gradient: one loop forward, one backward."""
    import jax
    import jax.numpy as jnp

    def loss(weights: Any, x: Any) -> Any:
        last, _ = jax.lax.scan(lambda h, now: (jnp.tanh(h @ weights + now), None), x[0], x)
        return last.sum()

    return step_of(jax.grad(loss), ((units, units), "float32"), ((steps, 128, units), "float32"))


def slow() -> Step:
    """Return convolutions and their gradients, which take the compiler ten seconds and more."""
    import jax
    import jax.numpy as jnp

    def loss(kernels: Any, x: Any) -> Any:
        for kernel in kernels:
            x = jax.nn.relu(jax.lax.conv(x, kernel, (1, 1), "SAME"))
        return jnp.mean(x * x)

    def gradient(one: Any, two: Any, three: Any, x: Any) -> Any:
        return jax.grad(loss)((one, two, three), x)

    kernels = [((32, 3, 3, 3), "float32"), ((64, 32, 3, 3), "float32"), ((96, 64, 5, 5), "float32")]
    return step_of(gradient, *kernels, ((1024, 3, 37, 37), "float32"))


DATA_PARALLEL = """
module @step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(
      %w: tensor<256x128xf32> {mhlo.sharding = "{replicated}", tf.aliasing_output = 0 : i32},
      %x: tensor<1024x256xf32> {mhlo.sharding = "{devices=[8,1]<=[8]}"},
      %g: tensor<1024x128xf32> {mhlo.sharding = "{devices=[8,1]<=[8]}"}
  ) -> (tensor<256x128xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0]
        : (tensor<1024x256xf32>, tensor<1024x128xf32>) -> tensor<256x128xf32>
    %1 = stablehlo.subtract %w, %0 : tensor<256x128xf32>
    return %1 : tensor<256x128xf32>
  }
}
"""
"""A step of gradient descent on a matrix, its batch of 1,024 rows divided over eight devices."""
