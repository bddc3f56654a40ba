"""Versions that are known not to work together, each with the place that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..hardware.environment import Environment
from ..hardware.packages import version_tuple
from .base import TPU

TENSORFLOW_WHEELS = ("tensorflow", "tensorflow-cpu", "tensorflow-tpu")
KERAS_FLOOR = (3, 10)

# The libtpu that `pip install jax[tpu]` brings, by version of jax: the METADATA of these wheels, read in
# November 2026. Colab's image of 2026-08-19 (googlecolab/backend-info) pairs jax 0.7.2 with 0.0.21.1.
LIBTPU_OF_JAX: dict[str, tuple[str, ...]] = {"0.10.2": ("0.0.42",), "0.7.2": ("0.0.23", "0.0.21")}


@dataclass(frozen=True)
class KnownProblem:
    """A combination that is known not to work.

    Attributes:
        applies: Whether an environment, a backend and a kind of runtime have it.
        text: The sentence to show; ``{names}`` in braces are versions of packages, dashes as underscores.
        source: Where it was read.
    """

    applies: Callable[[Environment, str, str], bool]
    text: str
    source: str


def libtpu_fits(environment: Environment) -> bool:
    """Return whether the installed libtpu is one that the installed jax asks for; True when not known."""
    known = LIBTPU_OF_JAX.get(environment.version("jax"))
    if known is None or not environment.libtpu:
        return True
    return any(environment.libtpu == pin or environment.libtpu.startswith(pin + ".") for pin in known)


def version_warnings(environment: Environment, backend: str, kind: str) -> tuple[str, ...]:
    """Return a sentence for each known problem that a runtime would have here.

    Args:
        environment: What is installed.
        backend: ``"jax"`` or ``"tensorflow"``.
        kind: ``"tpu"``, ``"gpu"``, ``"cpu"`` or ``"simulated"``.
    """
    names = {name.replace("-", "_"): version for name, version in environment.packages.items()}
    names.update(python=environment.python, libtpu=environment.libtpu, wheels=", ".join(_wheels(environment)))
    names["pin"] = " or ".join(f"{pin}.*" for pin in LIBTPU_OF_JAX.get(environment.version("jax"), ()))
    return tuple(
        f"{problem.text.format_map(names)} (Source: {problem.source}.)"
        for problem in KNOWN_PROBLEMS
        if problem.applies(environment, backend, kind)
    )


def _wheels(environment: Environment) -> list[str]:
    return [f"{name} {environment.version(name)}" for name in TENSORFLOW_WHEELS if environment.version(name)]


def _older(environment: Environment, name: str, floor: tuple[int, ...]) -> bool:
    version = environment.version(name)
    return bool(version) and version_tuple(version) < floor


def _jaxlib_differs(environment: Environment, backend: str, kind: str) -> bool:
    jax, jaxlib = environment.version("jax"), environment.version("jaxlib")
    return backend == "jax" and bool(jaxlib) and version_tuple(jax)[:2] != version_tuple(jaxlib)[:2]


def _libtpu_differs(environment: Environment, backend: str, kind: str) -> bool:
    return backend == "jax" and kind == TPU and not libtpu_fits(environment)


def _python_untried(environment: Environment, backend: str, kind: str) -> bool:
    return not (3, 11) <= version_tuple(environment.python)[:2] <= (3, 13)


def _numpy_too_new(environment: Environment, backend: str, kind: str) -> bool:
    return version_tuple(environment.version("numpy")) >= (2,) and _older(environment, "tensorflow", (2, 18))


KNOWN_PROBLEMS = (
    KnownProblem(
        _jaxlib_differs,
        "jax {jax} and jaxlib {jaxlib} do not belong together: importing jax fails or misbehaves.",
        "the version check in jax/_src/lib/__init__.py and jax's own requirements, read 2026-11",
    ),
    KnownProblem(
        _libtpu_differs,
        "jax {jax} asks for libtpu {pin}, and libtpu {libtpu} is installed.",
        "the METADATA of jax[tpu], read 2026-11",
    ),
    KnownProblem(
        _python_untried,
        "Python {python} is outside 3.11 to 3.13, for which TensorFlow, JAX and Keras all have releases.",
        "the packages' own requirements, read 2026-11",
    ),
    KnownProblem(
        lambda environment, backend, kind: len(_wheels(environment)) > 1,
        "{wheels} are installed together and overwrite each other's files: keep one.",
        "the three wheels install the same package folder; seen in colabtools#5203",
    ),
    KnownProblem(
        lambda environment, backend, kind: _older(environment, "tensorflow", (2, 16)),
        "In tensorflow {tensorflow}, tf.keras is Keras 2, which is not trained here; `import keras` is Keras 3.",
        "the release notes of TensorFlow 2.16",
    ),
    KnownProblem(
        _numpy_too_new,
        "tensorflow {tensorflow} was built for NumPy 1, and numpy {numpy} is installed.",
        "the release notes of TensorFlow 2.18",
    ),
)
"""Every known problem, in the order in which they are shown."""
