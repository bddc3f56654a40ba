"""The seam to TPUStrategy: the only lines that need TensorFlow's own TPU support.

Not run on a TPU. What it says when there is none was recorded with tensorflow 2.21 and
tensorflow-tpu 2.20 in November 2026.
"""

from __future__ import annotations

from typing import Any

from ..errors import ConnectError

WRONG_WHEEL = "No OpKernel"


def make_tpu_strategy(tf: Any) -> Any:
    """Initialise the TPU of this machine and return its strategy.

    ``tpu="local"`` is what a TPU VM needs: without it the resolver asks for a name.

    Raises:
        ConnectError: When TensorFlow cannot reach a TPU here.
    """
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except (tf.errors.NotFoundError, tf.errors.InvalidArgumentError, ValueError, RuntimeError) as error:
        raise explain_failure(error) from None


def explain_failure(error: BaseException) -> ConnectError:
    """Return what a failed TPU initialisation means."""
    text = str(error)
    if WRONG_WHEEL in text or "ConfigureDistributedTPU" in text:
        return ConnectError(
            "The installed tensorflow has no TPU support (it says: no OpKernel ConfigureDistributedTPU).",
            expected="Keras on JAX, which drives every TPU, or the tensorflow-tpu package.",
            type_next="%tpu_connect --restart --backend jax",
        )
    return ConnectError(
        f"TensorFlow found no TPU: {text.splitlines()[0] if text else type(error).__name__}",
        expected="a TPU attached to this machine.",
        type_next="%tpu_connect --backend jax, or %tpu_connect --simulate v2-8 to rehearse without one",
    )
