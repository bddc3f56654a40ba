"""A notebook or a module is migrated into a file beside it; the file itself stays as it is."""

from __future__ import annotations

import json

import nbformat
import pytest

from colab_tpu_magic import OptionError
from colab_tpu_magic.migration import migrate, migrate_file
from colab_tpu_magic.rewrite.source.notebook import INSTALL, REFUSED, UNREAD

from .article_cells import ARTICLE

IMPORTS = "import os\nimport tensorflow as tf\nfrom keras.utils import np_utils\n"


@pytest.fixture
def notebook(tmp_path):
    """The article as a notebook, with outputs and with metadata of Colab."""
    made = nbformat.v4.new_notebook(metadata={"accelerator": "TPU", "colab": {"name": "a"}, "widgets": {"x": {}}})
    cells = [nbformat.v4.new_markdown_cell("# tf.train.AdamOptimizer"), nbformat.v4.new_code_cell(IMPORTS)]
    cells += [nbformat.v4.new_code_cell(text, metadata={"id": "abc"}) for text in ARTICLE]
    cells.append(nbformat.v4.new_code_cell("tpu_model.save_weights('cnn.h5')"))
    cells.append(nbformat.v4.new_code_cell("model.load_weights('cnn.h5')\nmodel.load_weights('other.h5')"))
    cells[1]["outputs"] = [nbformat.v4.new_output("stream", text="old")]
    cells[1]["execution_count"] = 3
    made.cells = cells
    path = tmp_path / "old.ipynb"
    nbformat.write(made, path)
    return path


def test_notebook_is_written_beside_and_is_valid(notebook):
    before = notebook.read_bytes()
    made = migrate_file(notebook)
    assert made.path == notebook.with_name("old.tpu.ipynb")
    assert notebook.read_bytes() == before
    nbformat.validate(nbformat.read(made.path, as_version=4))


def test_notebooks_cells_know_each_other(notebook):
    new = nbformat.read(migrate_file(notebook).path, as_version=4)
    texts = [cell.source for cell in new.cells]
    assert texts[0] == "# tf.train.AdamOptimizer"
    assert texts[1] == f"{INSTALL}\n%load_ext colab_tpu_magic\n%tpu_connect"
    assert "clone" in INSTALL and "%pip install ." in INSTALL
    assert texts[2] == IMPORTS.replace("from keras.utils import np_utils", "from keras import utils as np_utils")
    assert texts[3] == ARTICLE[0]
    assert texts[6] == "tpu_model = model\n"
    assert texts[7].startswith("%%tpu_fit\ntpu_model.fit(\n    train_input_fn(),\n    steps_per_epoch = 60,")
    assert texts[8] == "tpu_model.save_weights('cnn.weights.h5')"
    assert texts[9] == "model.load_weights('cnn.weights.h5')\nmodel.load_weights('other.h5')"


def test_ids_and_metadata_stay_and_old_outputs_go(notebook):
    old = nbformat.read(notebook, as_version=4)
    new = nbformat.read(migrate_file(notebook).path, as_version=4)
    assert [cell.id for cell in new.cells if cell.id != "tpu-connect"] == [cell.id for cell in old.cells]
    assert new.metadata == {"accelerator": "TPU", "colab": {"name": "a"}}
    assert new.cells[3].metadata == {"id": "abc"}
    assert all(cell.outputs == [] and cell.execution_count is None for cell in new.cells if cell.cell_type == "code")


def test_migrating_the_new_notebook_changes_nothing_more(notebook):
    once = migrate_file(notebook).path
    made = migrate_file(once)
    assert made.path.read_text(encoding="utf-8") == once.read_text(encoding="utf-8")
    assert made.added == ()
    assert [result.rewrites for _, result in made.cells] == []


def test_report_counts_the_code_cells_of_the_new_notebook(notebook):
    made = migrate_file(notebook)
    code = [cell.source for cell in nbformat.read(made.path, as_version=4).cells if cell.cell_type == "code"]
    rules = {number: {row.rule for row in result.rewrites} for number, result in made.cells}
    assert rules[5] == {"tf-train-optimizers"} and "tf.keras.optimizers.Adam" in code[5 - 1]
    assert rules[6] == {"keras-to-tpu-model"} and "tpu_model = model" in code[6 - 1]
    assert [(row.line, row.rule) for row in made.added] == [(1, "connect"), (7, "tpu-fit")]
    assert code[7 - 1].startswith("%%tpu_fit")


def made_of(tmp_path, *cells):
    """Migrate a notebook of a heading and these code cells; return the new code cells behind the one that connects."""
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_markdown_cell("# A"), *(nbformat.v4.new_code_cell(text) for text in cells)]
    nbformat.write(made, tmp_path / "a.ipynb")
    new = nbformat.read(migrate_file(tmp_path / "a.ipynb", force=True).path, as_version=4)
    nbformat.write(new, tmp_path / "a.ipynb")
    return [cell.source for cell in new.cells if cell.cell_type == "code"][1:]


def test_cell_that_is_refused_says_so_at_its_top(tmp_path):
    first, second = made_of(tmp_path, "s = tf.Session()\ns.run(x)\nt = tf.Session()", "x = tf.placeholder(y)\nm.fit(x)")
    assert first.splitlines()[0] == REFUSED
    assert first.splitlines()[1].startswith("# tf.Session: TensorFlow 1 graphs and sessions cannot train")
    assert first.splitlines()[2].startswith("#   Build the model from keras.layers")
    assert first.endswith("\ns = tf.Session()\ns.run(x)\nt = tf.Session()") and first.count("\n") == 5
    assert second.splitlines()[:2] == ["%%tpu_fit", REFUSED]
    assert second.splitlines()[-2:] == ["x = tf.placeholder(y)", "m.fit(x)"]
    again = nbformat.read(migrate_file(tmp_path / "a.ipynb", force=True).path, as_version=4)
    assert [cell.source for cell in again.cells if cell.cell_type == "code"][1:] == [first, second]


def test_cell_that_cannot_be_read_says_so_at_its_top_and_the_others_are_migrated(tmp_path):
    broken = "import tensorflow as tf\nif True\n    tf.train.AdamOptimizer()"
    first, second, third = made_of(
        tmp_path, broken, f"%%time\n{broken}", "print 'a'\nopt = tf.train.GradientDescentOptimizer(0.1)"
    )
    assert first.splitlines()[:2] == [UNREAD, "# Line 5 of it, if True: It cannot be read as Python 3: expected ':'."]
    assert first.splitlines()[3:] == broken.splitlines() and first.splitlines()[5 - 1] == "if True"
    assert second.splitlines()[:2] == ["%%time", UNREAD] and second.splitlines()[6 - 1] == "if True"
    assert second.splitlines()[2].startswith("# Line 6 of it, if True: ")
    assert third == "print('a')\nopt = tf.keras.optimizers.SGD(0.1)"
    again = migrate_file(tmp_path / "a.ipynb", force=True)
    cells = [cell.source for cell in nbformat.read(again.path, as_version=4).cells if cell.cell_type == "code"]
    assert cells[1:] == [first, second, third]
    assert [number for number, result in again.cells if result.unread] == [2, 3]


def test_names_of_a_cell_of_python_2_are_known_in_the_other_cells(tmp_path):
    _, second = made_of(tmp_path, "print 'a'\nfrom torch.optim import Adam", "opt = Adam(net.parameters(), lr=0.1)")
    assert second == "opt = Adam(net.parameters(), lr=0.1)"


def test_old_notebook_format_without_ids_gets_none(tmp_path):
    cell = {"cell_type": "code", "metadata": {}, "execution_count": 1, "outputs": [], "source": ["np.float(3)\n", "x"]}
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 0, "metadata": {}, "cells": [cell]}), encoding="utf-8")
    new = json.loads(migrate_file(path).path.read_text(encoding="utf-8"))
    assert "id" not in new["cells"][0]
    assert new["cells"][1]["source"] == ["float(3)\n", "x"]
    nbformat.validate(nbformat.from_dict(new))


def test_module_is_written_beside(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("opt = tf.train.GradientDescentOptimizer(0.1)\n", encoding="utf-8")
    made = migrate_file(str(path))
    assert made.path.name == "train.tpu.py"
    assert made.path.read_text(encoding="utf-8") == "opt = tf.keras.optimizers.SGD(0.1)\n"
    assert [number for number, _ in made.cells] == [0]


def test_file_that_is_there_is_kept_unless_forced(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("np.float(1)\n", encoding="utf-8")
    (tmp_path / "a.tpu.py").write_text("mine", encoding="utf-8")
    with pytest.raises(OptionError, match="a.tpu.py is there already") as caught:
        migrate_file(path)
    assert caught.value.type_next.endswith("--force")
    assert (tmp_path / "a.tpu.py").read_text(encoding="utf-8") == "mine"
    assert migrate_file(path, force=True).path.read_text(encoding="utf-8") == "float(1)\n"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("missing.ipynb", None, "cannot be read"),
        ("a.txt", "x", "neither a notebook nor a module"),
        ("a.ipynb", "{", "no notebook of nbformat 4"),
        ("a.ipynb", '{"nbformat": 3, "worksheets": []}', "no notebook of nbformat 4"),
        ("a.ipynb", "[]", "no notebook of nbformat 4"),
    ],
)
def test_file_that_cannot_be_migrated_gets_one_message(tmp_path, name, content, says):
    path = tmp_path / name
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(OptionError, match=says) as caught:
        migrate_file(path)
    assert caught.value.type_next
    assert not list(tmp_path.glob("*.tpu.*"))


def test_source_that_is_no_text_is_refused():
    with pytest.raises(OptionError, match="source is a int"):
        migrate(3)
