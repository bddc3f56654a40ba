"""Tell what was measured: a Markdown table to read, and JSON with every single run to keep."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .cells import ROOT

FOLDER = ROOT / "build" / "benchmarks"
PACKAGES = ("keras", "jax", "tensorflow", "ipykernel", "ipywidgets")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose others are figures.

    Example:
        >>> print(markdown_table(["who", "ms"], [["ours", "1.0"]]))
        | who | ms |
        | --- | ---: |
        | ours | 1.0 |
    """
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Return the median of several runs, with the lowest and the highest.

    Example:
        >>> spread([1.01, 1.5, 1.02])
        '1.02 (1.01–1.50)'
    """
    middle = f"{statistics.median(values):.{digits}f}"
    if len(values) < 2:
        return middle
    return f"{middle} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def machine(packages: Iterable[str] = ()) -> dict[str, Any]:
    """Return what the figures depend on: versions, cores and how busy the machine is.

    Args:
        packages: Packages to tell the version of, beside those that always matter.
    """
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "packages": {name: found for name in (*PACKAGES, *packages) if (found := installed(name))},
    }


def installed(name: str) -> str:
    """Return the version of a package, empty when it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def headline(about: dict[str, Any]) -> str:
    """Return the line above a table: when, on what, and how busy it was."""
    versions = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    load = "" if about["load"] is None else f", load {about['load']:.1f} at the start"
    return f"{about['date']}, Python {about['python']}, {about['cores']} cores{load}: {versions}."


def save(name: str, result: dict[str, Any]) -> None:
    """Write every figure to ``build/benchmarks/<name>.json`` and say so."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(result, indent=1), encoding="utf-8")
    print(f"\nEvery run: {path.relative_to(ROOT)}", flush=True)


def progress(text: str) -> None:
    """Say on standard error how far the benchmark is, so that standard output is the report alone."""
    print(text, file=sys.stderr, flush=True)
