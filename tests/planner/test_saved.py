"""A saved plan is read instead of made; what answers another question is refused, and says what differs."""

from __future__ import annotations

import json
from dataclasses import replace

import keras
import numpy as np
import pytest

import colab_tpu_magic as tpu
from colab_tpu_magic.errors import OptionError
from colab_tpu_magic.planner.compiler.environment import VARIABLE, CompilerError
from colab_tpu_magic.planner.plan import Plan, Progress
from colab_tpu_magic.planner.saved import question_of, read_or_make

from ..widgets.plans import refused, row, too_large

PLAN = Plan("mlp", rows=(row(128), row(1024)), verdict="Fits.", compiler="jax 0.10.2, libtpu 0.0.42.1")
SHAPES = keras.KerasTensor((None, 12), "float32"), keras.KerasTensor((None,), "int32")


def mlp(units=16, optimizer="adam"):
    layers = [keras.Input((12,)), keras.layers.Dense(units), keras.layers.Dense(3, activation="softmax")]
    model = keras.Sequential(layers)
    model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy")
    return model


def question(model=None, x=SHAPES[0], targets=("v5e-1",), sizes=(128, 1024), precisions=("",)):
    return question_of(model or mlp(), x, targets, sizes, precisions)


class Maker:
    """Makes a plan, and counts how often."""

    def __init__(self, plan=PLAN):
        self.plan, self.times = plan, 0

    def __call__(self, teller):
        self.times += 1
        for stage in ("compiling v5e-1, batch 128", "compiling v5e-1, batch 128", "compiling v5e-1, batch 1,024"):
            teller(Progress(stage, 1.0, None, "", ()))
        return self.plan


def test_a_plan_is_made_and_written_once_and_read_from_then_on(tmp_path, capsys):
    path, make = tmp_path / "plans" / "mlp.json", Maker()
    assert read_or_make(path, question(), make) == PLAN
    told = capsys.readouterr().out.splitlines()
    assert told == [
        f"{path} is not there: asking the TPU compiler now.",
        "  compiling v5e-1, batch 128",
        "  compiling v5e-1, batch 1,024",
        f"Written to {path}.",
    ]
    assert read_or_make(path, question(), make) == PLAN
    assert make.times == 1
    told = capsys.readouterr().out
    assert told.startswith(f"Read from {path}, made on 20")
    assert "by jax 0.10.2, libtpu 0.0.42.1. Nothing was compiled." in told
    assert [one.name for one in path.parent.iterdir()] == ["mlp.json"]


@pytest.mark.parametrize("unfinished", [replace(PLAN, complete=False), replace(PLAN, rows=(*PLAN.rows, refused()))])
def test_an_unfinished_plan_is_not_written(tmp_path, capsys, unfinished):
    path = tmp_path / "mlp.json"
    assert read_or_make(path, question(), Maker(unfinished)) == unfinished
    assert not path.exists()
    assert "is not complete" in capsys.readouterr().out


def test_that_a_batch_does_not_fit_is_an_answer_to_be_written(tmp_path):
    path, plan = tmp_path / "mlp.json", replace(PLAN, rows=(*PLAN.rows, too_large()))
    read_or_make(path, question(), Maker(plan))
    assert read_or_make(path, question(), Maker()) == plan


def test_a_plan_that_cannot_be_written_is_not_lost(tmp_path, capsys):
    (tmp_path / "plans").write_text("a file where the folder would be")
    assert read_or_make(tmp_path / "plans" / "mlp.json", question(), Maker()) == PLAN
    assert "could not be written" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        ({"model": mlp(17)}, "layers"),
        ({"model": mlp(optimizer="sgd")}, "optimizer"),
        ({"x": keras.KerasTensor((None, 24), "float32")}, "inputs"),
        ({"targets": ("v2-8",)}, "targets"),
        ({"sizes": (128,)}, "batch sizes"),
        ({"sizes": None, "precisions": ("bfloat16",)}, "batch sizes, precisions"),
    ],
)
def test_a_plan_of_another_question_is_refused_with_what_differs(tmp_path, other, differs):
    path, make = tmp_path / "mlp.json", Maker()
    read_or_make(path, question(), make)
    with pytest.raises(OptionError, match=rf"another question: other {differs}\.\n.*delete .*mlp\.json"):
        read_or_make(path, question(**other), make)
    assert make.times == 1


def test_what_shows_only_later_does_not_tell_questions_apart(tmp_path):
    path, make = tmp_path / "mlp.json", Maker()
    read_or_make(path, question(), make)
    unbuilt = keras.Sequential([keras.layers.Dense(16), keras.layers.Dense(3, activation="softmax")])
    unbuilt.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    for model, x in ((mlp(), np.zeros((5, 12), "float32")), (unbuilt, SHAPES[0]), (mlp(), iter([]))):
        read_or_make(path, question(model, x), make)
    assert make.times == 1


@pytest.mark.parametrize("text", ["", "[]", '{"format": 99}', '{"format": 1, "asked": {}, "made": "", "plan": 4}'])
def test_a_file_that_holds_no_plan_is_left_alone_and_said(tmp_path, text):
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(OptionError, match=r"mine\.json holds no plan that can be read"):
        read_or_make(path, question(), Maker())
    assert path.read_text() == text


def test_a_saved_plan_needs_no_compiler_and_a_new_one_does(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "no-python"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "mlp.json"
    asked = {"target": "v5e-1", "batch_sizes": [128, 1024], "saved": path}
    with pytest.raises(CompilerError):
        tpu.plan(mlp(), *SHAPES, **asked)
    assert not path.exists()
    read_or_make(path, question(), Maker())
    assert tpu.plan(mlp(), *SHAPES, **asked) == PLAN
    assert json.loads(path.read_text())["asked"]["layers"] == [["Dense", [[12, 16], [16]]], ["Dense", [[16, 3], [3]]]]
