"""What the installed frameworks can drive, told from their names and versions only."""

from __future__ import annotations

from ..hardware.environment import Environment
from ..hardware.packages import JAX_CUDA_PLUGINS
from .versions import TENSORFLOW_WHEELS, libtpu_fits


def jax_drives_tpu(environment: Environment) -> bool:
    """Return whether the installed JAX can drive a TPU.

    A libtpu that came with tensorflow-tpu and is not the one that this jax asks for does not count.
    """
    if not installed(environment, "jax"):
        return False
    if not environment.libtpu:
        return bool(environment.variables.get("TPU_LIBRARY_PATH"))
    return not environment.version("tensorflow-tpu") or libtpu_fits(environment)


def tensorflow_drives_tpu(environment: Environment) -> bool:
    """Return whether the installed TensorFlow can drive a TPU.

    tensorflow-tpu can. A package named tensorflow can where it came with the machine's image and that
    image's own libtpu.so; beside a libtpu from pip it is the ordinary wheel, which cannot (colabtools#5174).
    """
    if environment.version("tensorflow-tpu"):
        return True
    return bool(environment.version("tensorflow") and environment.system_libtpu and not environment.libtpu)


def installed(environment: Environment, backend: str) -> bool:
    """Return whether a backend's framework is installed at all."""
    if backend == "jax":
        return bool(environment.version("jax") and environment.version("jaxlib"))
    return any(environment.version(name) for name in TENSORFLOW_WHEELS)


def drives_gpu(environment: Environment, backend: str) -> bool:
    """Return whether the installed framework of a backend comes with its GPU support.

    JAX's is a plugin of its own; TensorFlow's is in the wheel named tensorflow, on Linux.
    """
    if backend == "tensorflow":
        return bool(environment.version("tensorflow"))
    allowed = any(platform_allowed(environment, name) for name in ("cuda", "gpu"))
    return allowed and any(environment.version(name) for name in JAX_CUDA_PLUGINS)


def platform_allowed(environment: Environment, platform: str) -> bool:
    """Return whether ``JAX_PLATFORMS`` lets JAX see a platform."""
    setting = environment.variables.get("JAX_PLATFORMS", "")
    return not setting or platform in setting.split(",")
