"""Make the plans anew that the notebooks read, with the real TPU compiler: run each such notebook without them.

What a notebook asks is written in the notebook alone. It runs here in an empty folder, so that it finds no plan and
makes each; when it has run to its end, what it wrote takes the place of the plans beside it.

Usage: ``python tools/make_plans.py`` (a few minutes; needs the compiler, see docs/plan.md)
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from colab_tpu_magic.errors import TpuMagicError
from colab_tpu_magic.planner.compiler.environment import VARIABLE, find_environment

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "notebooks" / "02_will_it_fit.ipynb"
PLANS = "plans"
CELL_TIMEOUT_SECONDS = 1800


def made_in(folder: Path, notebook: Path, environ: dict[str, str]) -> list[Path]:
    """Run a notebook in a folder and return the plans that it wrote there, as paths.

    Raises:
        nbclient.exceptions.CellExecutionError: When a cell raised.
        RuntimeError: When it wrote none.
    """
    read = nbformat.read(notebook, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(read, timeout=CELL_TIMEOUT_SECONDS, kernel_name="python3", resources=resources).execute(env=environ)
    plans = sorted((folder / PLANS).glob("*.json"))
    if not plans:
        raise RuntimeError(f"{notebook.name} wrote no plans.")
    return plans


def put_in_place(plans: list[Path], beside: Path) -> None:
    """Let new plans take the place of all that are in the folder ``plans`` beside a notebook."""
    place = beside / PLANS
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for path in plans:
        shutil.copyfile(path, place / path.name)


def main() -> int:
    """Make the plans and return the exit code."""
    try:
        compiler = find_environment()
    except TpuMagicError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Asking libtpu {compiler.libtpu} with jax {compiler.jax}: some minutes")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # An empty cache besides: every answer is the compiler's of now.
        environ = {**os.environ, VARIABLE: compiler.python, "XDG_CACHE_HOME": str(folder / "cache")}
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        plans = made_in(folder, NOTEBOOK, environ)
        put_in_place(plans, NOTEBOOK.parent)
    for path in plans:
        print(f"notebooks/{PLANS}/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
