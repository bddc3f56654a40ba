"""Find out what is on this machine, importing no framework and initialising no device."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .accelerators import Holder, Tpu, find_gpus, find_tpu, find_tpu_holder, find_tpu_node
from .frontend import find_frontend
from .packages import imported_frameworks, imported_keras_backend, installed_versions

_VARIABLES = (
    "COLAB_RELEASE_TAG",
    "COLAB_TPU_ADDR",
    "COLAB_TPU_1VM",
    "ISTPUVM",
    "JAX_PLATFORMS",
    "KAGGLE_KERNEL_RUN_TYPE",
    "KERAS_BACKEND",
    "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS",
    "TF_USE_LEGACY_KERAS",
    "TPU_ACCELERATOR_TYPE",
    "TPU_CHIPS_PER_HOST_BOUNDS",
    "TPU_LIBRARY_PATH",
    "TPU_NAME",
    "TPU_PROCESS_ADDRESSES",
    "TPU_VISIBLE_CHIPS",
    "TPU_WORKER_HOSTNAMES",
)


@dataclass(frozen=True)
class Environment:
    """What is on this machine.

    Attributes:
        frontend: A key of `frontend.FRONTEND_TITLES`.
        python: Version of Python, ``"3.13.15"``.
        packages: Version by name as pip writes it, installed ones only.
        imported: Frameworks that are imported already, of ``("tensorflow", "jax", "keras", "tf_keras")``.
        keras_backend: Backend of the imported Keras, or None when Keras is not imported.
        variables: The environment variables that matter here and are set.
        tpu: The TPU that is attached, or None.
        tpu_node: ``"COLAB_TPU_ADDR=10.1.2.3:8470"`` where an old TPU node is named, else empty.
        tpu_holder: Another process that has the TPU open, or None.
        gpus: Models of the NVIDIA GPUs.
        system_libtpu: Path of a ``libtpu.so`` that came with the machine's image, else empty.
    """

    frontend: str
    python: str
    packages: Mapping[str, str] = field(default_factory=dict, hash=False)
    imported: tuple[str, ...] = ()
    keras_backend: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict, hash=False)
    tpu: Tpu | None = None
    tpu_node: str = ""
    tpu_holder: Holder | None = None
    gpus: tuple[str, ...] = ()
    system_libtpu: str = ""

    def version(self, name: str) -> str:
        """Return the version of a package, empty when it is not installed."""
        return self.packages.get(name, "")

    @property
    def libtpu(self) -> str:
        """Version of the installed libtpu, empty when there is none."""
        return self.version("libtpu") or self.version("libtpu-nightly")

    @property
    def legacy_keras(self) -> bool:
        """Whether ``tf.keras`` is Keras 2 here: what TensorFlow makes of ``TF_USE_LEGACY_KERAS``."""
        return self.variables.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True")


def detect_environment(
    root: str | os.PathLike[str] = "/",
    environ: Mapping[str, str] | None = None,
    modules: Mapping[str, Any] | None = None,
    packages: Mapping[str, str] | None = None,
    shell: Any | None = None,
) -> Environment:
    """Return what is on this machine; takes a few milliseconds.

    Args:
        root: Where ``/dev``, ``/proc`` and ``/sys`` lie; a recorded machine in tests.
        environ: Environment variables; those of this process when None.
        modules: Loaded modules; ``sys.modules`` when None.
        packages: Versions by name; read from the installed metadata when None.
        shell: The IPython shell; the running one, if any, when None and ``modules`` is None too.

    Example:
        >>> detect_environment(root="/nowhere", environ={}, modules={}, packages={}).frontend
        'python'
    """
    base = Path(root)
    environ = os.environ if environ is None else environ
    if shell is None and modules is None:
        shell = _running_shell()
    modules = sys.modules if modules is None else modules
    tpu = find_tpu(base, environ)
    return Environment(
        frontend=find_frontend(base, environ, modules, shell),
        python=platform.python_version(),
        packages=dict(installed_versions() if packages is None else packages),
        imported=imported_frameworks(modules),
        keras_backend=imported_keras_backend(modules, environ),
        variables={name: environ[name] for name in _VARIABLES if environ.get(name)},
        tpu=tpu,
        tpu_node=find_tpu_node(environ) if tpu is None else "",
        # Without a TPU nobody holds it, and walking all of /proc is the slow part.
        tpu_holder=find_tpu_holder(base) if tpu is not None else None,
        gpus=find_gpus(base),
        system_libtpu=_system_libtpu(base, environ),
    )


def _running_shell() -> Any | None:
    """Return the running IPython shell without importing IPython where it is not loaded."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def _system_libtpu(root: Path, environ: Mapping[str, str]) -> str:
    """Return the libtpu that no package manager knows: named by its variable, or part of the image."""
    named = environ.get("TPU_LIBRARY_PATH", "")
    if named:
        return named
    for place in ("lib/libtpu.so", "usr/lib/libtpu.so"):
        if (root / place).exists():
            return f"/{place}"
    return ""
