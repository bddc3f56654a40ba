"""Choose what will train, from what is here and what was asked for; a pure function."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..hardware.environment import Environment
from ..hardware.packages import version_tuple
from ..hardware.slices import Slice, parse_replicas
from ..options import ConnectOptions
from . import advice
from .abilities import drives_gpu, installed, jax_drives_tpu, platform_allowed, tensorflow_drives_tpu
from .base import BACKEND_TITLES, CPU, GPU, SIMULATED, TPU
from .notices import ignored_setting, keras_2, unused_tpu
from .versions import KERAS_FLOOR, version_warnings

SLOW_TENSORFLOW_REPLICAS = 8
"""From here on a first fit on simulated TensorFlow replicas took 5 to 9 s for a tiny model (2026-11)."""


@dataclass(frozen=True)
class Choice:
    """What will train.

    Attributes:
        backend: ``"jax"`` or ``"tensorflow"``.
        kind: ``"tpu"``, ``"gpu"``, ``"cpu"`` or ``"simulated"``.
        slice: The TPU slice, real or simulated; None when there is none or it cannot be told yet.
        replicas: Devices that will run the step; None when only known after initialising them.
        reasons: Why, a sentence each.
        warnings: What the user should know, a sentence each.
    """

    backend: str
    kind: str
    slice: Slice | None = None
    replicas: int | None = None
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def choose(environment: Environment, options: ConnectOptions) -> Choice:
    """Return what will train.

    A TPU comes first, through JAX where JAX can drive it; then GPUs; then the CPU. ``options.simulate``
    goes before all of them.

    Raises:
        OptionError: When ``options.simulate`` is neither a slice nor 1 to 256.
        ConnectError: When what is here or was asked for cannot be had, with the line to type next.
    """
    simulated = None if options.simulate is None else parse_replicas(options.simulate)
    if version_tuple(environment.version("keras")) < KERAS_FLOOR:
        raise advice.keras_unusable(environment)
    if simulated is not None:
        choice = _simulated(environment, options, *simulated)
    elif environment.tpu is not None and not _hidden(environment, options):
        choice = _tpu(environment, options)
    else:
        choice = _gpu_or_cpu(environment, options)
    warnings = (
        *choice.warnings,
        *keras_2(environment, choice.backend),
        *version_warnings(environment, choice.backend, choice.kind),
    )
    return replace(choice, warnings=warnings)


def _hidden(environment: Environment, options: ConnectOptions) -> bool:
    """Return whether ``JAX_PLATFORMS`` hides the TPU from the backend that would drive it."""
    through_tensorflow = tensorflow_drives_tpu(environment) and not jax_drives_tpu(environment)
    if options.backend == "tensorflow" or (options.backend == "auto" and through_tensorflow):
        return False
    return not platform_allowed(environment, "tpu")


def _simulated(environment: Environment, options: ConnectOptions, named: Slice | None, replicas: int) -> Choice:
    backend, reason = _backend(environment, options, preferred=())
    warnings = list(ignored_setting(environment, options, backend))
    if environment.tpu is not None:
        warnings.append("A TPU is here and stays unused; %tpu_connect without --simulate uses it.")
    if backend == "tensorflow" and replicas >= SLOW_TENSORFLOW_REPLICAS:
        warnings.append(f"{replicas} TensorFlow replicas on one CPU are slow to start; JAX is quicker here.")
    what = f"{named.name} has {replicas}" if named is not None else f"{replicas}"
    simulated = f"{what} replica{'s' if replicas != 1 else ''}, simulated as asked, on virtual CPU devices."
    return Choice(backend, SIMULATED, named, replicas, (simulated, reason), tuple(warnings))


def _tpu(environment: Environment, options: ConnectOptions) -> Choice:
    tpu = environment.tpu
    assert tpu is not None
    if tpu.hosts > 1:
        raise advice.several_hosts(environment)
    backend, reason = _tpu_backend(environment, options)
    if environment.tpu_holder is not None:
        raise advice.tpu_held(environment)
    warnings = list(ignored_setting(environment, options, backend))
    if backend == "tensorflow" and tpu.chip is not None and tpu.chip.name in ("v5e", "v5p", "v6e"):
        warnings.append(
            f"Nobody has published a run of TPUStrategy on a {tpu.chip.name} notebook; JAX is the tried way."
        )
    found = f"A TPU was found ({', '.join(tpu.evidence)})."
    replicas = tpu.slice.replicas if tpu.slice is not None else None
    return Choice(backend, TPU, tpu.slice, replicas, (found, reason), tuple(warnings))


def _tpu_backend(environment: Environment, options: ConnectOptions) -> tuple[str, str]:
    """Return the backend for the TPU and why, or raise what stands in the way."""
    jax_ready, tensorflow_ready = jax_drives_tpu(environment), tensorflow_drives_tpu(environment)
    asked, loaded = options.backend, environment.keras_backend
    needed = asked if asked != "auto" else "tensorflow" if tensorflow_ready and not jax_ready else "jax"
    if loaded is not None and loaded != needed and (asked != "auto" or loaded not in BACKEND_TITLES):
        why = "" if asked != "auto" else f"That backend cannot drive a TPU; {BACKEND_TITLES[needed]} can."
        raise advice.keras_loaded_with_other(environment, needed, why)
    backend = loaded or needed
    chip = environment.tpu.chip if environment.tpu is not None else None
    if backend == "jax" and not jax_ready:
        if loaded == "jax" and asked == "auto" and tensorflow_ready:
            why = "Only the installed TensorFlow can drive this TPU."
            raise advice.keras_loaded_with_other(environment, "tensorflow", why)
        raise advice.no_tpu_package(environment)
    if backend == "tensorflow" and not tensorflow_ready:
        if asked == "auto" and jax_ready:
            raise advice.keras_loaded_with_other(
                environment,
                "jax",
                "The installed TensorFlow was built without TPU support; JAX here can drive the TPU.",
            )
        raise advice.wrong_tensorflow(environment, jax_ready)
    if backend == "tensorflow" and chip is not None and chip.name == "7x":
        raise advice.no_tensorflow_on_7x()
    if loaded is not None:
        return backend, f"Keras is already imported with the {BACKEND_TITLES[backend]} backend."
    if asked != "auto":
        return backend, f"The {BACKEND_TITLES[backend]} backend was asked for."
    if backend == "jax":
        return backend, "JAX can drive it, and is what Keras itself is tested with on TPUs."
    return backend, "TensorFlow is the only installed framework that can drive it."


def _gpu_or_cpu(environment: Environment, options: ConnectOptions) -> Choice:
    able = [name for name in ("jax", "tensorflow") if environment.gpus and drives_gpu(environment, name)]
    setting = environment.variables.get("KERAS_BACKEND", "")
    backend, reason = _backend(environment, options, preferred=(setting, *able))
    warnings = [*unused_tpu(environment), *ignored_setting(environment, options, backend)]
    if backend in able:
        found = f"No TPU was found; {', '.join(environment.gpus)} was."
        return Choice(backend, GPU, reasons=(found, reason), warnings=tuple(warnings))
    if environment.gpus:
        tail = ""
        if backend == "jax" and not platform_allowed(environment, "cuda"):
            tail = f" JAX_PLATFORMS={environment.variables['JAX_PLATFORMS']} hides it from JAX."
        elif backend == "jax":
            fix = advice.pip(environment, f"jax[cuda12]=={environment.version('jax')}")
            tail = f" Type {fix} and restart to use it."
        warnings.append(f"{environment.gpus[0]} is here, and the installed {backend} cannot use it.{tail}")
        return Choice(backend, CPU, None, 1, ("No usable accelerator was found.", reason), tuple(warnings))
    return Choice(backend, CPU, None, 1, ("Neither a TPU nor a GPU was found.", reason), tuple(warnings))


def _backend(environment: Environment, options: ConnectOptions, preferred: tuple[str, ...]) -> tuple[str, str]:
    """Return the backend where any accelerator is none of its concern, and why."""
    loaded, asked = environment.keras_backend, options.backend
    if loaded is not None:
        needed = asked if asked != "auto" else "jax"
        if loaded not in BACKEND_TITLES or (asked != "auto" and loaded != asked):
            why = "" if asked != "auto" else f"That backend cannot train here; {BACKEND_TITLES[needed]} can."
            raise advice.keras_loaded_with_other(environment, needed, why)
        return loaded, f"Keras is already imported with the {BACKEND_TITLES[loaded]} backend."
    if asked != "auto":
        if not installed(environment, asked):
            raise advice.not_installed(environment, asked)
        return asked, f"The {BACKEND_TITLES[asked]} backend was asked for."
    for name in (*preferred, "jax", "tensorflow"):
        if name in BACKEND_TITLES and installed(environment, name):
            if preferred and name == environment.variables.get("KERAS_BACKEND"):
                return name, f"KERAS_BACKEND={name} is set."
            return name, f"{BACKEND_TITLES[name]} is installed and nothing else was asked for."
    raise advice.not_installed(environment, "jax")
