"""`%tpu_plan` in a real kernel, with the real compiler: an output that needs no widget, and a fit that follows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from colab_tpu_magic.planner.compiler import CompilerError, find_environment
from colab_tpu_magic.planner.plan import ESTIMATE

from .kernel_rig import Kernel, running_kernel

pytestmark = [pytest.mark.kernel, pytest.mark.slow, pytest.mark.compiler]

SETUP = """
import os
os.environ["XDG_CACHE_HOME"] = {cache!r}
%load_ext colab_tpu_magic
%tpu_connect --simulate 2 --backend jax
import colab_tpu_magic as tpu
import keras
import numpy as np

x, y = np.random.default_rng(0).random((640, 20)).astype("float32"), np.arange(640) % 2
model = keras.Sequential(
    [keras.Input((20,)), keras.layers.Dense(16, name="hidden"), keras.layers.Dense(2, activation="softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy")
before = [np.array(weight) for weight in model.get_weights()]
"""
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel with a small model, and an empty folder for what plans keep."""
    try:
        find_environment()
    except CompilerError as missing:
        pytest.skip(str(missing).splitlines()[0])
    cache: Path = tmp_path_factory.mktemp("cache")
    with running_kernel() as one:
        one.run(SETUP.format(cache=str(cache)))
        yield one


def test_plan_is_one_output_that_is_replaced_as_it_comes_and_needs_no_widget(kernel):
    made = kernel.run("plan = %tpu_plan model x y --target v2-8 --batch-sizes 64")
    (card,) = made.displays
    assert made.updates > 0 and not made.stderr
    assert set(card) == {"text/html", "text/plain", "image/svg+xml", "image/png"} and WIDGET not in card
    assert card["text/plain"].startswith("Fits v2-8 at batch 64") and ESTIMATE in card["text/html"]
    assert "hidden" in card["image/svg+xml"]
    assert kernel.value("(plan is tpu.last_plan, plan.rows[0].cached, plan.rows[0].status)") == "(True, False, 'fits')"


def test_known_plan_is_there_at_once_and_is_shown_again_where_it_is_asked_for(kernel):
    again = kernel.run("%tpu_plan model x y --target v2-8 --batch-sizes 64")
    assert len(again.displays) == 1  # the value of the line is the card that is there already
    assert kernel.value("tpu.last_plan.rows[0].cached") == "True"
    assert again.seconds < 10
    (card,) = kernel.run("plan").displays
    assert card["text/plain"].startswith("Fits v2-8 at batch 64")
    assert "Examples per second: the batch divided by" in kernel.run("%tpu_plan --explain").stdout


def test_cell_is_planned_and_nothing_of_it_stays(kernel):
    cell = "%%tpu_plan --target v2-8 --batch-sizes 64\nmodel.compile('sgd', 'mse')\nfresh = 1\n"
    made = kernel.run(cell.replace("'mse'", "'sparse_categorical_crossentropy'") + "model.fit(x, y, epochs=9)")
    assert made.text.startswith("Fits v2-8 at batch 64")
    assert kernel.value("(model.optimizer.name, 'fresh' in globals(), len(tpu.runs))") == "('adam', False, 0)"
    assert kernel.value("all(np.array_equal(*two) for two in zip(before, model.get_weights()))") == "True"


def test_fit_with_a_plan_shows_the_card_and_then_trains_with_its_batch(kernel):
    made = kernel.run(
        "%%tpu_fit --plan v2-8 --precision keep --no precision --batch-size 64\nmodel.fit(x, y, verbose=0)"
    )
    assert made.displays[0]["text/plain"].startswith("Fits v2-8 at batch 64")
    assert kernel.value("tpu.last_run.global_batch_size") == "64"
    why = kernel.value("[one.why for one in tpu.last_run.changes if one.rule == 'batch-size'][0]")
    assert "The TPU compiler's plan for v2-8" in why


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%tpu_plan model x y --target v5-1", "is not one that can be planned for"),
        ("%tpu_plan model x[:,:7] y --target v2-8", "x has rows of shape (7,)"),
        ("%tpu_plan keras.Sequential() x y", "never compiled"),
    ],
)
def test_bad_input_gets_one_message_and_leaves_no_output(kernel, line, said):
    made = kernel.run(line, check=False)
    assert said in made.stderr and "Type: " in made.stderr and "Traceback" not in made.stderr
    assert not any(data.get("text/html") for data in made.displays)
