"""Datasets that are shuffled anew each time they are begun are begun as often as in the run, or it is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from colab_tpu_magic.training.recipe import DataFacts

from .notebooks import SETUP, exported, run_in

SHUFFLED = DataFacts("tf.data.Dataset", None, 7, batches=15, orders=(1,))
PICKED = replace(SHUFFLED, orders=(2,), picked=True)
SEEDED = f"import keras\nkeras.utils.set_random_seed(1)\n{SETUP}\ndata = val = None"


def document(fit: str, times: int = 1, **values):
    cells = [SEEDED, *[f"%%tpu_fit --seed 0\n{fit}"] * times]
    runs = [run_in(cells, 2 + at, place=1 + at, **values) for at in range(times)]
    made = exported(cells, *runs)
    compile(made.script(), "script", "exec")
    return made


@pytest.mark.parametrize(
    ("fit", "values", "lines"),
    [
        ("model.fit(data)", {"data": SHUFFLED, "looked_at": False}, ["next(iter(data))", "model.fit("]),
        ("model.fit(data)", {"data": SHUFFLED, "looked_at": True}, ["model.fit("]),
        (
            "model.fit(data.batch(3))",
            {"data": SHUFFLED, "looked_at": False},
            ["the_data = data.batch(3)", "next(iter(the_data))", "model.fit("],
        ),
        (
            "model.fit(x, y, validation_data=val.take(3))",
            {"validation": PICKED},
            ["the_validation = val.take(3)", "next(iter(the_validation))", "model.fit("],
        ),
        ("model.fit(x, y, validation_data=val)", {"validation": replace(PICKED, picked=False)}, ["model.fit("]),
        ("model.fit(x, y, validation_data=val, validation_steps=2)", {"validation": PICKED}, ["model.fit("]),
    ],
)
def test_a_dataset_is_begun_once_more_where_the_run_looked_at_it_and_keras_does_not(fit, values, lines):
    made = document(fit, **values)
    text = made.script().partition("set_random_seed(0)\n\n")[2]
    assert [line.partition("  #")[0] for line in text.splitlines()[: len(lines)]] == lines
    assert made.notes == ()
    assert "It gives the history of the run" in made.script()


@pytest.mark.parametrize(
    ("fit", "values", "times", "why"),
    [
        ("model.fit(data)", {"data": SHUFFLED}, 2, "by more than one fit"),
        (
            "model.fit(data, validation_data=val)",
            {"data": SHUFFLED, "validation": replace(PICKED, orders=(1,))},
            1,
            "in turns",
        ),
        ("model.fit(data)", {"data": SHUFFLED, "steps_per_epoch": None}, 1, "more often"),
        (
            "model.fit(x, y, validation_data=val)",
            {"validation": PICKED, "backend": "tensorflow", "replicas": 2, "kind": "simulated"},
            1,
            "more often",
        ),
    ],
)
def test_an_order_that_is_not_that_of_the_run_is_not_promised(fit, values, times, why):
    made = document(fit, times, **values)
    assert sum(why in note and "reshuffle_each_iteration=False" in note for note in made.notes) == 1
    assert "It gives the history of the run" not in made.script()
