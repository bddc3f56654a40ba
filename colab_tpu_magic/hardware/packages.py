"""Read which packages are installed and which are imported, without importing any."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError
from typing import Any

JAX_CUDA_PLUGINS = ("jax-cuda12-plugin", "jax-cuda13-plugin")
PACKAGES = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-tpu",
    "jax",
    "jaxlib",
    "libtpu",
    "libtpu-nightly",
    "keras",
    "tf_keras",
    "ipykernel",
    "ipywidgets",
    "ipython",
    "numpy",
    *JAX_CUDA_PLUGINS,
)
"""Packages that are looked up."""

FRAMEWORKS = ("tensorflow", "jax", "keras", "tf_keras")
"""Modules whose being imported narrows the choice of a backend."""

_VERSION = re.compile(r"^Version:\s*(\S+)", re.MULTILINE)


def installed_versions(names: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the version of each installed package; those not installed are left out."""
    found = {}
    for name in names:
        try:
            # The text and not `.version`, which parses the whole description as mail and takes three times as long.
            text = Distribution.from_name(name).read_text("METADATA") or ""
        except PackageNotFoundError:
            continue
        match = _VERSION.search(text)
        if match:  # A half-removed package has metadata without a version.
            found[name] = match[1]
    return found


def imported_frameworks(modules: Mapping[str, Any]) -> tuple[str, ...]:
    """Return those of `FRAMEWORKS` that are imported."""
    return tuple(name for name in FRAMEWORKS if modules.get(name) is not None)


def imported_keras_backend(modules: Mapping[str, Any], environ: Mapping[str, str]) -> str | None:
    """Return the backend of the imported Keras: ``"jax"``, ``"torch"``, …; None when it is not imported.

    ``KERAS_BACKEND`` counts while Keras is imported and never after it (keras#19423), so the module is
    asked; the variable is what is left in the middle of an import.
    """
    keras = modules.get("keras")
    if keras is None:
        return None
    for place in ("config", "backend"):
        ask = getattr(getattr(keras, place, None), "backend", None)
        if callable(ask):
            return str(ask())
    return environ.get("KERAS_BACKEND") or None


def version_tuple(version: str) -> tuple[int, ...]:
    """Return the numbers a version starts with: ``"0.10.2rc1"`` becomes ``(0, 10, 2)``.

    Example:
        >>> version_tuple("0.0.21.1") < version_tuple("0.0.42")
        True
    """
    match = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    return tuple(int(number) for number in match.group().split(".")) if match else ()
