"""The lesson on the 2018 article runs the article's own cells as they stand, and states what comes out."""

from __future__ import annotations

import html
import re

import pytest

from colab_tpu_magic.hardware.slices import parse_slice

from ..article_cells import ADDRESS, ARTICLE, CONVERSION, INPUT_FUNCTION, OPTIMIZER, TRAINING
from .lesson import executed

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

OLD_CELLS = {
    "input-old": ("%%tpu_fit", INPUT_FUNCTION),
    "address-old": ("%%tpu_migrate", ADDRESS),
    "optimizer-old": ("%%tpu_fit", OPTIMIZER),
    "conversion-old": ("%%tpu_migrate", CONVERSION),
    "training-old": ("%%tpu_fit", TRAINING),
}


@pytest.fixture(scope="module")
def lesson(root, tmp_path_factory):
    return executed(root / "notebooks" / "03_the_2018_article_today.ipynb", tmp_path_factory.mktemp("article"))


def accuracies(lesson, name):
    """Training and test accuracy that a cell printed."""
    return [lesson.number(name, rf"{kind} accuracy ([\d.]+)") for kind in ("training", "test")]


def test_the_articles_cells_run_as_they_stand_and_stand_on_the_left(lesson):
    assert tuple(cell for _, cell in OLD_CELLS.values()) == ARTICLE
    for name, (magic, cell) in OLD_CELLS.items():
        assert lesson.cells[name]["source"] == f"{magic}\n{cell}".rstrip("\n")
        table = lesson.cells[name.replace("old", "text")]["source"]
        left, right = re.findall(r"<pre[^>]*>(.*?)</pre>", table, re.DOTALL)
        assert html.unescape(left) == cell.rstrip("\n")
        assert html.unescape(right) != html.unescape(left)


@pytest.mark.parametrize(
    ("cell", "rewrites"),
    [
        ("address-old", ("‘COLAB_TPU_ADDR’] → device_name = os.environ['COLAB_TPU_ADDR']", "legacy.address()")),
        ("optimizer-old", ("tf.train.AdamOptimizer(learning_rate) → tf.keras.optimizers.Adam(learning_rate",)),
        ("conversion-old", ("TPUClusterResolver(TPU_ADDRESS))) → model",)),
    ],
)
def test_each_rewrite_is_shown(lesson, cell, rewrites):
    for rewrite in rewrites:
        assert rewrite in lesson.text(cell)
    assert "brought up to date" in lesson.text(cell)


def test_the_input_function_needs_no_rewrite(lesson):
    assert "brought up to date" not in lesson.text("input-old")
    assert "brought up to date" not in lesson.text("training-old")
    assert lesson.printed("input-today").splitlines() == ["a batch: (1024, 784) (1024, 10)"] * 2


def test_the_rewritten_optimizer_keeps_tensorflows_epsilon(lesson):
    assert "Adam with epsilon 1e-08" in lesson.printed("optimizer-today")
    assert "default: 1e-07" in lesson.printed("optimizer-today")


def test_the_articles_training_knows_the_digits(lesson):
    training, test = accuracies(lesson, "training-old-figures")
    assert training > 0.97
    assert test > 0.9
    assert "600 steps of 1,024 rows: each row about 154 times" in lesson.printed("training-old-figures")


def test_todays_training_is_as_good_on_new_digits(lesson):
    training, test = accuracies(lesson, "training-today-figures")
    assert training > 0.97
    assert test > accuracies(lesson, "training-old-figures")[1] - 0.03
    assert "630 steps of 64 rows: each row about 10 times" in lesson.printed("training-today-figures")
    assert "Global batch size" in lesson.text("training-today")


def test_figures_in_the_answer_are_those_of_the_runs(lesson):
    stated = [float(figure) for figure in re.findall(r"\b[01]\.\d{3}\b", lesson.stated("training-why"))]
    shown = [*accuracies(lesson, "training-old-figures"), *accuracies(lesson, "training-today-figures")]
    assert stated == pytest.approx(shown, abs=0.02)


def test_the_batches_of_the_table_are_128_for_each_replica(lesson):
    rows = re.findall(r"^\| (v\S+) \|[^|]*\| (\d+) \| ([\d,]+) \|$", lesson.cells["batch-text"]["source"], re.M)
    assert len(rows) == 4
    for name, replicas, batch in rows:
        assert parse_slice(name).replicas == int(replicas)
        assert int(batch.replace(",", "")) == 128 * int(replicas)
    assert lesson.printed("batch-today") == "8 replicas: a batch of 1,024\n"


def test_a_whole_notebook_is_migrated(lesson):
    assert "2 places brought up to date" in lesson.text("file")
    written = lesson.printed("file-today")
    assert "model.compile(tf.keras.optimizers.SGD(0.1), 'categorical_crossentropy')" in written
    assert "%%tpu_fit\n# batches() is a generator\nmodel.fit(batches(), steps_per_epoch=60, epochs=10)" in written


def test_nothing_is_printed_to_the_error_stream(lesson):
    assert lesson.errors() == []
