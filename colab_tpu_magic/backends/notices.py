"""Sentences about what was left unused or will not do what the user may expect."""

from __future__ import annotations

from ..hardware.environment import Environment
from ..options import ConnectOptions
from .base import BACKEND_TITLES


def ignored_setting(environment: Environment, options: ConnectOptions, backend: str) -> tuple[str, ...]:
    """Say that ``KERAS_BACKEND`` names another backend than the one that was chosen without being asked for."""
    setting = environment.variables.get("KERAS_BACKEND", "")
    if options.backend != "auto" or environment.keras_backend is not None or setting in ("", backend):
        return ()
    tail = f"; %tpu_connect --backend {setting} keeps it" if setting in BACKEND_TITLES else ""
    return (f"KERAS_BACKEND={setting} is set and was replaced by {backend}{tail}.",)


def unused_tpu(environment: Environment) -> tuple[str, ...]:
    """Say why a TPU that is here, or that a variable names, does not train."""
    if environment.tpu is not None:
        setting = environment.variables["JAX_PLATFORMS"]
        return (
            f"A TPU is here, and JAX_PLATFORMS={setting} hides it from JAX: "
            "delete that variable and restart to use it.",
        )
    if environment.tpu_node:
        return (
            f"{environment.tpu_node} points to a TPU node, which Google has retired: nothing can connect "
            "to it any more. In Colab choose Runtime, Change runtime type, v5e-1 TPU.",
        )
    for name in ("TPU_ACCELERATOR_TYPE", "TPU_CHIPS_PER_HOST_BOUNDS", "ISTPUVM"):
        if name in environment.variables:
            setting = environment.variables[name]
            return (f"{name}={setting} is set, but neither PCI nor /dev shows a TPU on this machine.",)
    return ()


def keras_2(environment: Environment, backend: str) -> tuple[str, ...]:
    """Say that ``tf.keras`` may be Keras 2 here."""
    if not (environment.legacy_keras or "tf_keras" in environment.imported):
        return ()
    why = "TF_USE_LEGACY_KERAS is set" if environment.legacy_keras else "tf_keras is imported"
    cannot = "cannot train on JAX" if backend == "jax" else "is not trained by %%tpu_fit"
    return (
        f"{why}, so tf.keras may be Keras 2 (tf_keras), which {cannot}: use `import keras`, "
        "or delete that variable and restart.",
    )
