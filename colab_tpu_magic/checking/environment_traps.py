"""The traps that the machine shows: packages, variables, other processes. No framework is imported for it."""

from __future__ import annotations

from ..backends.abilities import jax_drives_tpu, tensorflow_drives_tpu
from ..backends.advice import reconnect, tpu_held
from ..backends.base import TPU, Runtime
from ..backends.versions import TENSORFLOW_WHEELS, version_warnings
from ..hardware.environment import Environment
from ..rewrite.finding import Finder, Finding


class EnvironmentTrap(Finder):
    """One thing that the machine shows."""

    def look(self, environment: Environment, runtime: Runtime | None) -> list[Finding]:
        """Return what is found; an empty list when all is well."""
        raise NotImplementedError


class WrongWheel(EnvironmentTrap):
    """``pip install tensorflow`` on a TPU machine brings a TensorFlow that was built without TPU support.

    It imports, it finds the CPU, and training on the TPU ends in "No OpKernel was registered to support Op
    'ConfigureDistributedTPU'". Keras 3 on JAX trains the same code on the same TPU.
    """

    id = "wrong-wheel"
    title = "TensorFlow without TPU support"
    source = "colabtools#5174, colabtools#5203, tensorflow#96203"

    def look(self, environment: Environment, runtime: Runtime | None) -> list[Finding]:
        """Look for a TensorFlow that is to drive a TPU and cannot."""
        backend = environment.keras_backend or environment.variables.get("KERAS_BACKEND", "")
        wheel = next((name for name in TENSORFLOW_WHEELS if environment.version(name)), "")
        if environment.tpu is None or not wheel or backend != "tensorflow" or tensorflow_drives_tpu(environment):
            return []
        message = (
            f"Keras is to train on TensorFlow, and {wheel} {environment.version(wheel)} was built without TPU support: "
            "the TPU stays unused, or the training ends in \"No OpKernel … 'ConfigureDistributedTPU'\"."
        )
        next_line = reconnect(environment, "jax") if jax_drives_tpu(environment) else '%pip install "jax[tpu]"'
        return [self.finding("error", message, next_line)]


class NoTensorflow(EnvironmentTrap):
    """Keras 3 looks for TensorFlow when nobody names a backend, and Colab's TPU runtime has none.

    ``import keras`` then fails with ModuleNotFoundError. ``%tpu_connect`` names JAX first.
    """

    id = "no-tensorflow"
    title = "No TensorFlow here"
    source = "colabtools#5164; googlecolab/backend-info, August 2026"

    def look(self, environment: Environment, runtime: Runtime | None) -> list[Finding]:
        """Look for a Keras that would look for TensorFlow in vain."""
        backend = environment.variables.get("KERAS_BACKEND", "tensorflow")
        have = any(environment.version(wheel) for wheel in TENSORFLOW_WHEELS)
        if have or backend != "tensorflow" or environment.keras_backend or not environment.version("keras"):
            return []
        message = "TensorFlow is not installed, and Keras looks for it until another backend is named: import keras fails unless %tpu_connect came first."
        return [self.finding("warning", message, "%tpu_connect")]


class BackendVariable(EnvironmentTrap):
    """Keras reads ``KERAS_BACKEND`` once, while it is imported. Set later, it changes nothing and says nothing."""

    id = "backend-after-import"
    title = "Backend chosen too late"
    source = "keras#19423"

    def look(self, environment: Environment, runtime: Runtime | None) -> list[Finding]:
        """Compare the variable with the backend that is loaded."""
        wanted, loaded = environment.variables.get("KERAS_BACKEND"), environment.keras_backend
        if not wanted or not loaded or wanted == loaded:
            return []
        message = f"KERAS_BACKEND is {wanted}, and Keras was imported with the {loaded} backend before it was set."
        return [self.finding("warning", message, f"%tpu_connect --restart --backend {wanted}")]


class TpuHeld(EnvironmentTrap):
    """One process owns a TPU at a time. A second one waits, or is told that the TPU is "already in use".

    The usual owner is the kernel of another notebook; after Ctrl-C it may be a process that hangs. It is named
    here and never ended, and a lock file is never deleted: it proves nothing.
    """

    id = "tpu-held"
    title = "TPU in use by another process"
    source = "jax#10192"

    def look(self, environment: Environment, runtime: Runtime | None) -> list[Finding]:
        """Look for another process that has the TPU open."""
        if environment.tpu_holder is None:
            return []
        said = tpu_held(environment)
        return [self.finding("error", f"{said.what} Expected: {said.expected}", said.type_next.splitlines()[0])]


class TpuNodeVariable(EnvironmentTrap):
    """An old image names a TPU node on the network; such nodes are gone, and nothing answers at the address."""

    id = "tpu-node"
    title = "Address of an old TPU node"
    source = "tensorflow#32651; Colab's move to TPU VMs, colabtools#5566"

    def look(self, environment: Environment, runtime: Runtime | None) -> list[Finding]:
        """Look for the variables that held the address."""
        if not environment.tpu_node:
            return []
        message = f"{environment.tpu_node} names a TPU node on the network; there are none any more."
        return [self.finding("warning", message, "Runtime > Change runtime type > v5e-1 TPU")]


class UnusedTpu(EnvironmentTrap):
    """A training that runs on the CPU beside a TPU looks like one on the TPU, only slower.

    A bare ``except`` in copied set-up code, JAX_PLATFORMS=cpu, or a simulation that was meant for another day
    lead there.
    """

    id = "unused-tpu"
    title = "TPU that stays unused"
    source = "colabtools#5228"

    def look(self, environment: Environment, runtime: Runtime | None) -> list[Finding]:
        """Compare what trains with what is here."""
        if environment.tpu is None or runtime is None or runtime.kind == TPU:
            return []
        message = f"A TPU is here, and what trains is {runtime.device}."
        return [self.finding("warning", message, reconnect(environment, "jax"))]


class Versions(EnvironmentTrap):
    """Some versions of Python, JAX, libtpu, NumPy and TensorFlow are known not to work together."""

    id = "versions"
    title = "Versions that do not fit"
    source = "named with each"

    def look(self, environment: Environment, runtime: Runtime | None) -> list[Finding]:
        """Look up the installed versions in the table of known problems."""
        if runtime is None:
            return []
        said = version_warnings(environment, runtime.backend, runtime.kind)
        return [self.finding("warning", sentence) for sentence in said]


ENVIRONMENT_TRAPS: tuple[EnvironmentTrap, ...] = (
    TpuHeld(),
    WrongWheel(),
    NoTensorflow(),
    BackendVariable(),
    TpuNodeVariable(),
    UnusedTpu(),
    Versions(),
)


def find_in_environment(environment: Environment, runtime: Runtime | None = None) -> list[Finding]:
    """Return what the machine shows.

    Args:
        environment: What is on this machine.
        runtime: What is connected, or None.
    """
    return [finding for trap in ENVIRONMENT_TRAPS for finding in trap.look(environment, runtime)]
