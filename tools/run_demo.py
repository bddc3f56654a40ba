"""Execute the quickstart in a real kernel of this environment and say how well it learned.

Writes the executed notebook and its HTML page to ``build/demo`` and prints where they lie.
Fails when the test accuracy is below 0.95, or when the chart or the table of changes is missing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert import HTMLExporter

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "notebooks" / "01_quickstart.ipynb"
OUTPUT = ROOT / "build" / "demo"
KERNEL = "colab-tpu-magic-demo"
LEAST_ACCURACY = 0.95
CELL_TIMEOUT_SECONDS = 300


def register_kernel() -> None:
    """Register this environment's Python as a Jupyter kernel inside the environment."""
    command = [sys.executable, "-m", "ipykernel", "install", "--sys-prefix", "--name", KERNEL]
    subprocess.run([*command, "--display-name", "colab_tpu_magic demo"], check=True, capture_output=True)


def texts_of(cell: Any) -> str:
    """Return everything a code cell put out that is text: streams, plain text, HTML and SVG."""
    texts = []
    for output in cell.get("outputs", []):
        texts.append(output.get("text", ""))
        texts += [value for kind, value in output.get("data", {}).items() if kind.startswith(("text/", "image/svg"))]
    return "\n".join("".join(text) for text in texts)


def accuracy_of(notebook: Any) -> float | None:
    """Return the test accuracy that the notebook printed, or None.

    Example:
        >>> accuracy_of({"cells": [{"outputs": [{"text": "Test accuracy: 0.9710"}]}]})
        0.971
    """
    for cell in notebook["cells"]:
        found = re.search(r"Test accuracy: ([01]\.\d+)", texts_of(cell))
        if found:
            return float(found.group(1))
    return None


def problems_of(notebook: Any) -> list[str]:
    """Return what is missing in an executed quickstart, one sentence each."""
    problems = []
    accuracy = accuracy_of(notebook)
    if accuracy is None:
        problems.append("No test accuracy was printed.")
    elif accuracy < LEAST_ACCURACY:
        problems.append(f"The test accuracy is {accuracy:.4f}; expected at least {LEAST_ACCURACY}.")
    (training,) = (cell for cell in notebook["cells"] if cell["source"].startswith("%%tpu_fit"))
    html = texts_of(training)
    kinds = {kind for output in training["outputs"] for kind in output.get("data", {})}
    if "<svg" not in html and not kinds & {"image/png", "image/svg+xml"}:
        problems.append("The training cell shows no chart.")
    if "<table" not in html or "batch-size" not in html:
        problems.append("The training cell shows no table of changes.")
    return problems


def main() -> int:
    """Run the demonstration; return the exit code."""
    started = time.monotonic()
    register_kernel()
    OUTPUT.mkdir(parents=True, exist_ok=True)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(
        notebook, kernel_name=KERNEL, timeout=CELL_TIMEOUT_SECONDS, resources={"metadata": {"path": str(OUTPUT)}}
    )
    print(
        f"Running {NOTEBOOK.relative_to(ROOT)}: a small network learns digits on 8 simulated replicas (a minute or two)"
    )
    error = ""
    try:
        client.execute(env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"})
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as failure:
        error = str(failure)
    executed = OUTPUT / NOTEBOOK.name
    nbformat.write(notebook, executed)
    page = executed.with_suffix(".html")
    page.write_text(HTMLExporter().from_notebook_node(notebook)[0], encoding="utf-8")

    problems = [error] if error else problems_of(notebook)
    accuracy = accuracy_of(notebook)
    if accuracy is not None:
        print(f"Test accuracy: {accuracy:.4f}")
    print(f"Executed notebook: {executed.relative_to(ROOT)}")
    print(f"The same as a page: {page.relative_to(ROOT)}")
    print(f"Took {time.monotonic() - started:.0f} s")
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
