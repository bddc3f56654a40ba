"""Make floats of codes on JAX devices: a choice among given values, no arithmetic, so that no bit can change."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np


def decoder(
    tables: tuple[np.ndarray | None, ...], platform: str, sharding_of: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """Return what puts a batch's codes on the devices and makes floats of them there.

    Args:
        tables: For each flattened leaf its values, float32 ``(2 to 256,)``, or None to leave it as it is.
        platform: ``"tpu"``, ``"gpu"`` or ``"cpu"``.
        sharding_of: Returns how an array lies on the devices, None for the default device.

    Example:
        >>> decode = decoder((np.array([0.0, 0.5], "float32"),), "cpu", lambda leaf: None)
        >>> decode((np.array([1, 0], "uint8"),))[0].tolist()
        [0.5, 0.0]
    """
    choose = selected if platform == "tpu" else looked_up
    functions: dict[tuple[int, Any], Callable[[Any], Any]] = {}

    def decoded(at: int, table: np.ndarray, codes: Any) -> Any:
        sharding = sharding_of(codes)
        function = functions.get((at, sharding))
        if function is None:
            function = functions[at, sharding] = jax.jit(partial(choose, table), out_shardings=sharding)
        return function(jax.device_put(codes, sharding))

    def decode(batch: Any) -> Any:
        leaves = keras.tree.flatten(batch)
        floats = [
            leaf if table is None else decoded(at, table, leaf)
            for at, (table, leaf) in enumerate(zip(tables, leaves, strict=True))
        ]
        return keras.tree.pack_sequence_as(batch, floats)

    return decode


def looked_up(table: np.ndarray, codes: Any) -> Any:
    """Return ``table[codes]`` by a gather: the quick way on CPU and GPU."""
    return _floats(jnp.take(jnp.asarray(table.view(np.int32)), codes.astype(jnp.int32), mode="clip"))


def selected(table: np.ndarray, codes: Any) -> Any:
    """Return ``table[codes]`` by one choice between halves for each bit: a TPU has wide selects and slow gathers."""
    size = 1 << (len(table) - 1).bit_length()
    level: list[Any] = list(np.pad(table.view(np.int32), (0, size - len(table)), mode="edge"))
    codes, bit = codes.astype(jnp.int32), 0
    while len(level) > 1:
        upper = (codes >> bit) & 1 != 0
        level = [jnp.where(upper, high, low) for low, high in zip(level[::2], level[1::2], strict=True)]
        bit += 1
    return _floats(level[0])


def _floats(bits: Any) -> Any:
    # Chosen as integers: XLA makes a plain conversion of a choice between -0.0 and 1.0, and loses the sign (jax 0.10.2).
    return jax.lax.bitcast_convert_type(bits, jnp.float32)
