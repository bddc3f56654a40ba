"""Runs as a notebook would have made them, from texts alone: no kernel and no Keras."""

from __future__ import annotations

from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

from colab_tpu_magic.exporting.assemble import document_of
from colab_tpu_magic.exporting.calls import fit_calls
from colab_tpu_magic.exporting.cells import Cell, cell_of, trimmed
from colab_tpu_magic.exporting.document import Document
from colab_tpu_magic.rewrite.change import Change
from colab_tpu_magic.training.call_site import CallSite
from colab_tpu_magic.training.recipe import DataFacts, Recipe
from colab_tpu_magic.training.run import Run

SETUP = """import keras
import numpy as np
x, y = np.zeros((100, 3)), np.zeros(100)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")"""
FIT = "%%tpu_fit --seed 0\nhistory = model.fit(x, y, epochs=2)"
BATCH = Change("batch-size", "Global batch size", "32", "48", "Fill the replicas.", "a source", "--batch-size keep")


def transform(text: str) -> str:
    """Turn the magics of a cell into calls, as IPython does."""
    return TransformerManager().transform_cell(text)


def cell(text: str, number: int = 1) -> Cell:
    """Return a typed cell as plain Python."""
    return cell_of(number, text, transform)


def run_in(cells: list[str], number: int, nth: int = 0, caller: int | None = None, **values: Any) -> Run:
    """Return the run that a fit of a cell has made.

    Args:
        cells: What was typed; the first cell is number 1.
        number: Number of the cell that ran.
        nth: Which of the fits in the text.
        caller: Number of the cell in which the call stands, when it is another.
        **values: Fields of the recipe that differ, and ``changes``, ``status``, ``place`` of the run.
    """
    ran, calling = _text(cells[number - 1]), _text(cells[(caller or number) - 1])
    epochs = 2 if "epochs" in calling else 1
    node = fit_calls(cell(cells[(caller or number) - 1]).tree)[nth]
    settings: dict[str, Any] = {
        "execution": number,
        "backend": "jax",
        "kind": "cpu",
        "replicas": 1,
        "slice_name": "",
        "seed": 0,
        "shuffle_seed": 0,
        "shuffle": True,
        "epochs": epochs,
        "own_epochs": epochs,
        "batch_size": 48,
        "steps_per_epoch": 3,
        "full_batches": True,
        "data": DataFacts("arrays", 100),
        "callbacks": "list",
        "site": CallSite(ran, calling, node.end_lineno or 0, node.end_col_offset or 0),
    }
    made = Run(
        "this machine's CPU, JAX backend",
        number=values.pop("place", 1),
        changes=values.pop("changes", ()),
        status=values.pop("status", "completed"),
    )
    made.recipe = Recipe(**settings | values)
    return made


def exported(cells: list[str], *runs: Run) -> Document:
    """Return the last run of a notebook as a document."""
    return document_of(runs[-1], list(runs), ["", *cells], transform)


def script(cells: list[str], **values: Any) -> str:
    """Return the script of a run that the only fit of the last cell has made."""
    return exported(cells, run_in(cells, len(cells), **values)).script()


def _text(typed: str) -> str:
    body = typed.partition("\n")[2] if typed.startswith("%%tpu_fit") else typed
    return trimmed(transform(body))
