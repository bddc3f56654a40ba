"""What to say when the runtime that was asked for cannot be had: what happened, why, the line to type."""

from __future__ import annotations

from ..errors import ConnectError
from ..hardware.environment import Environment
from .base import BACKEND_TITLES
from .versions import TENSORFLOW_WHEELS

SAME_KERAS = "Keras 3 on JAX trains the same code: tf.keras is that Keras 3 from TensorFlow 2.16 on."


def pip(environment: Environment, requirement: str) -> str:
    """Return the line that installs a requirement in the running front end."""
    return f'{"pip" if environment.frontend == "python" else "%pip"} install "{requirement}"'


def reconnect(environment: Environment, backend: str) -> str:
    """Return the line that connects after an installation; with a restart where Keras or JAX is loaded."""
    loaded = set(environment.imported) & {"jax", "keras", "tensorflow"}
    return f"%tpu_connect --restart --backend {backend}" if loaded else f"%tpu_connect --backend {backend}"


def jax_tpu(environment: Environment) -> str:
    """Return the two lines that make JAX able to drive a TPU without replacing the installed jax."""
    version = environment.version("jax")
    requirement = f"jax[tpu]=={version}" if version else "jax[tpu]"
    return f"{pip(environment, requirement)}\n{reconnect(environment, 'jax')}"


def not_installed(environment: Environment, backend: str) -> ConnectError:
    """Say that a backend's framework is missing."""
    requirement = {"jax": "jax>=0.6", "tensorflow": "tensorflow>=2.19"}[backend]
    return ConnectError(
        f"The {BACKEND_TITLES[backend]} backend needs {backend}, which is not installed.",
        expected=f"{requirement} beside Keras.",
        type_next=f"{pip(environment, requirement)}\n{reconnect(environment, backend)}",
    )


def keras_unusable(environment: Environment) -> ConnectError:
    """Say that Keras is missing, or older than we support."""
    version = environment.version("keras")
    what = f"keras {version} is installed, which is too old." if version else "Keras is not installed."
    again = "%tpu_connect --restart" if "keras" in environment.imported else "%tpu_connect"
    fix = f"{pip(environment, 'keras>=3.10')}\n{again}"
    return ConnectError(what, expected="keras 3.10 or newer.", type_next=fix)


def keras_loaded_with_other(environment: Environment, backend: str, why: str = "") -> ConnectError:
    """Say that Keras is imported with a backend that is not the one asked for or needed.

    Args:
        environment: What is loaded.
        backend: The backend that would do.
        why: A sentence about what the loaded one cannot do; a general one when empty.
    """
    loaded = environment.keras_backend or ""
    title = BACKEND_TITLES.get(loaded, loaded)
    why = why or f"The {BACKEND_TITLES[backend]} backend was asked for."
    return ConnectError(
        f"Keras is already imported with the {title} backend, and keeps it until the kernel restarts. {why}",
        expected=f"a fresh kernel that connects before it imports Keras, to choose {BACKEND_TITLES[backend]}.",
        type_next=f"%tpu_connect --restart --backend {backend}",
    )


def no_tpu_package(environment: Environment) -> ConnectError:
    """Say that a TPU is here and that JAX lacks what it needs to drive it."""
    assert environment.tpu is not None
    have = [f"{name} {environment.version(name)}" for name in ("jax", *TENSORFLOW_WHEELS) if environment.version(name)]
    have.append(f"libtpu {environment.libtpu}" if environment.libtpu else "no libtpu")
    return ConnectError(
        f"There is a TPU{_name(environment)}, and JAX cannot drive it with what is installed ({', '.join(have)}).",
        expected="jax with the libtpu that belongs to it.",
        type_next=jax_tpu(environment),
    )


def wrong_tensorflow(environment: Environment, jax_ready: bool) -> ConnectError:
    """Say that no TensorFlow here was built for a TPU (colabtools#5174, #5203).

    Args:
        environment: What is installed.
        jax_ready: Whether JAX can drive the TPU.
    """
    wheel = next((name for name in TENSORFLOW_WHEELS if environment.version(name)), "")
    what = f"The TensorFlow backend was asked for on the TPU{_name(environment)}, and no TensorFlow is installed."
    if wheel:
        what = (
            f"The installed {wheel} {environment.version(wheel)} was built without TPU support: training on the "
            f'TPU{_name(environment)} would end in "No OpKernel was registered to support Op '
            "'ConfigureDistributedTPU'\"."
        )
    # JAX needs no restart unless Keras is already bound to something else.
    restart = "--restart " if environment.keras_backend not in (None, "jax") else ""
    return ConnectError(
        what,
        expected=f"tensorflow-tpu, or JAX. {SAME_KERAS}",
        type_next=f"%tpu_connect {restart}--backend jax" if jax_ready else jax_tpu(environment),
    )


def no_tensorflow_on_7x() -> ConnectError:
    """Say that Google offers no TensorFlow on TPU7x (docs.cloud.google.com/tpu/docs/tpu7x, read 2026-11)."""
    return ConnectError(
        "TensorFlow is not supported on TPU7x, by Google's own documentation.",
        expected=SAME_KERAS,
        type_next="%tpu_connect --backend jax",
    )


def tpu_held(environment: Environment) -> ConnectError:
    """Name the process that has the TPU open; never touch it or its lock file (jax#10192)."""
    holder = environment.tpu_holder
    assert holder is not None
    command = f" ({holder.command[:120]})" if holder.command else ""
    return ConnectError(
        f"The TPU{_name(environment)} is in use by process {holder.pid}{command}, and one process owns it at a time.",
        expected="that process to end; if it is another notebook's kernel, shut that kernel down.",
        type_next=f"!ps -fp {holder.pid}\n%tpu_connect",
    )


def several_hosts(environment: Environment) -> ConnectError:
    """Say that a slice over several machines waits for all of them."""
    assert environment.tpu is not None
    return ConnectError(
        f"This TPU slice spans {environment.tpu.hosts} machines (TPU_WORKER_HOSTNAMES), and one notebook "
        "drives one machine: starting it here would wait for the others without end.",
        expected="a slice on one machine, such as v5e-8 or v6e-8.",
        type_next="%tpu_connect --simulate v5e-8",
    )


def _name(environment: Environment) -> str:
    """Return the slice's name with a space before it, or nothing when it cannot be told."""
    found = environment.tpu.slice if environment.tpu is not None else None
    return f" {found.name}" if found is not None else ""
