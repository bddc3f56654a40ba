"""The quickstart runs top to bottom in a real kernel of this environment."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient
from run_demo import accuracy_of, problems_of, texts_of

from .kernel_rig import notebook_kernel_manager

pytestmark = [pytest.mark.kernel, pytest.mark.slow]


@pytest.fixture(scope="module")
def executed(root, tmp_path_factory):
    notebook = nbformat.read(root / "notebooks" / "01_quickstart.ipynb", as_version=4)
    folder = str(tmp_path_factory.mktemp("quickstart"))
    client = NotebookClient(
        notebook, km=notebook_kernel_manager(), timeout=240, resources={"metadata": {"path": folder}}
    )
    client.execute()
    return notebook


def cell(notebook, name):
    (found,) = (one for one in notebook.cells if one["id"] == name)
    return found


def test_quickstart_learns_the_digits_and_shows_chart_and_changes(executed):
    assert problems_of(executed) == []
    assert accuracy_of(executed) >= 0.95


def test_connect_cell_says_what_trains(executed):
    told = texts_of(cell(executed, "connect"))
    assert "8 simulated replicas (v2-8)" in told
    assert "No TPU here" in told


def test_training_cell_is_left_with_a_picture_and_no_dead_widget(executed):
    outputs = cell(executed, "train")["outputs"]
    kinds = [kind for output in outputs for kind in output.get("data", {})]
    assert "application/vnd.jupyter.widget-view+json" not in kinds
    assert "image/png" in kinds or "image/svg+xml" in kinds


def test_no_start_up_noise_of_the_frameworks_in_the_notebook(executed):
    noise = [
        output["text"]
        for one in executed.cells
        for output in one.get("outputs", [])
        if output["output_type"] == "stream" and output["name"] == "stderr"
    ]
    assert noise == []


def test_changes_are_printed_with_reason_and_switch(executed):
    told = texts_of(cell(executed, "changes"))
    assert "otherwise: --batch-size keep" in told
