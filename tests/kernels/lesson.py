"""Execute a notebook of `notebooks/` in a real kernel of this Python, and read what its cells state and show."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from run_demo import texts_of

from .kernel_rig import notebook_kernel_manager

CELL_TIMEOUT_SECONDS = 240


class Lesson:
    """An executed lesson."""

    def __init__(self, notebook: nbformat.NotebookNode) -> None:
        self.cells = {cell["id"]: cell for cell in notebook.cells}

    def text(self, name: str) -> str:
        """Return everything that is text in the outputs of a cell."""
        return texts_of(self.cells[name])

    def printed(self, name: str) -> str:
        """Return what a cell printed."""
        outputs = self.cells[name]["outputs"]
        return "".join(output["text"] for output in outputs if output.get("name") == "stdout")

    def number(self, name: str, pattern: str) -> float:
        """Return the one number that a pattern with one group finds in what a cell printed."""
        (found,) = re.findall(pattern, self.printed(name))
        return float(found.replace(",", ""))

    def stated(self, name: str) -> str:
        """Return the source of a cell on one line."""
        return " ".join(str(self.cells[name]["source"]).split())

    def pictures(self, name: str) -> list[str]:
        """Return the PNG pictures of a cell, base64."""
        return [output["data"]["image/png"] for output in self._displays(name) if "image/png" in output["data"]]

    def errors(self) -> list[str]:
        """Return all that went to the error stream."""
        streams = [output for cell in self.cells.values() for output in cell.get("outputs", [])]
        return [output["text"] for output in streams if output.get("name") == "stderr"]

    def _displays(self, name: str) -> list[nbformat.NotebookNode]:
        return [output for output in self.cells[name]["outputs"] if "data" in output]


def executed(path: Path, folder: Path) -> Lesson:
    """Run a notebook from top to bottom in a folder of its own.

    Raises:
        nbclient.exceptions.CellExecutionError: When a cell raised.
    """
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, km=notebook_kernel_manager(), timeout=CELL_TIMEOUT_SECONDS, resources=resources)
    # A kernel chooses matplotlib's inline backend, which leaves the pictures, unless another one is asked for.
    client.execute(env={name: value for name, value in os.environ.items() if name != "MPLBACKEND"})
    return Lesson(notebook)
