"""A plan of a cell trains nothing and puts all back; a fit with --plan trains as its plan recommends."""

from __future__ import annotations

from types import SimpleNamespace

import keras
import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import colab_tpu_magic as tpu
from colab_tpu_magic import plans
from colab_tpu_magic.cell import compile_cell
from colab_tpu_magic.checking.plan_run import plan_run
from colab_tpu_magic.errors import DataError, ModelError
from colab_tpu_magic.options import FitOptions
from colab_tpu_magic.planner import planning
from colab_tpu_magic.planner.plan import Plan, Progress
from colab_tpu_magic.planner.row import FITS, Row
from colab_tpu_magic.session import session

from .models import dense, rows, training

pytestmark = pytest.mark.table

X, Y = rows(200)
BEST = Row("v2-8", 96, "bfloat16", FITS, step_seconds=(1e-3, 1e-3), examples_per_second=(96e3, 96e3))
FOUND = Plan("net", (BEST,), verdict="Fits v2-8; best 96.", recommended=FitOptions(batch_size=96, precision="bfloat16"))


def state(model):
    return [np.array(keras.ops.convert_to_numpy(one)) for one in (*model.variables, *model.optimizer.variables)]


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "colab_tpu_magic")
    shell.user_ns.update(keras=keras, x=X, y=Y, tpu=tpu, np=np)
    yield shell
    shell.run_line_magic("unload_ext", "colab_tpu_magic")
    InteractiveShell.clear_instance()


@pytest.fixture
def asked(monkeypatch):
    """Answer every plan with `FOUND`, and keep what was asked."""
    kept = []

    def plan(model, x=None, y=None, **more):
        kept.append(SimpleNamespace(model=model, x=x, y=y, **more))
        more["progress"](Progress("compiling", 0.0, None, "", ()))
        return FOUND

    monkeypatch.setattr(planning, "plan", plan)
    return kept


def run(shell, runtime, text, said=None):
    made = []

    def make(model, arguments):
        made.append((model, arguments))
        return FOUND

    cell = compile_cell(shell, text)
    plan_run(text, cell, shell, runtime, make, (said if said is not None else []).append)
    return made


@pytest.mark.keras_floor
def test_a_cell_is_planned_with_its_fits_caught_and_everything_put_back(shell, runtime):
    model = shell.user_ns["model"] = dense()
    compiled = {name: getattr(model, name) for name in ("optimizer", "loss")}
    before, fit, random, runs = state(model), keras.Model.fit, np.random.get_state()[1].copy(), len(session.runs)
    made = run(
        shell,
        runtime,
        "import os\nos.environ['FOR_A_PLAN'] = '1'\nfresh = np.random.rand(3)\n"
        "model.compile('sgd', 'sparse_categorical_crossentropy')\nhistory = model.fit(x, y, 64, epochs=2)",
    )
    ((planned, arguments),) = made
    assert planned is model and arguments["x"] is X and arguments["batch_size"] == 64 and arguments["epochs"] == 2
    assert "fresh" not in shell.user_ns and "FOR_A_PLAN" not in __import__("os").environ
    assert model.loss is compiled["loss"] and model.optimizer is compiled["optimizer"]
    assert all(np.array_equal(one, two) for one, two in zip(before, state(model), strict=True))
    assert keras.Model.fit is fit and (np.random.get_state()[1] == random).all() and len(session.runs) == runs


def test_fits_that_are_alike_are_planned_once_and_others_each(shell, runtime):
    shell.user_ns.update(model=dense(), other=dense())
    said = []
    made = run(shell, runtime, "for _ in range(3):\n    model.fit(x, y)\nmodel.fit(x, y, 64)\nother.fit(x, y)", said)
    assert [(one.name, arguments["batch_size"]) for one, arguments in made] == [
        (shell.user_ns["model"].name, None),
        (shell.user_ns["model"].name, 64),
        (shell.user_ns["other"].name, None),
    ]
    assert said == ["2 more fits of the same kind in the cell: same plan."]


def test_a_cell_that_stops_after_its_fit_says_where_and_one_that_stops_before_raises(shell, runtime):
    shell.user_ns["model"] = dense()
    said = []
    run(shell, runtime, "history = model.fit(x, y)\nhistory.history['loss'].no_such", said)
    assert said[0].startswith("Line 3: AttributeError") and "no figures to go on with" in said[0]
    with pytest.raises(ZeroDivisionError):
        run(shell, runtime, "1 / 0\nmodel.fit(x, y)")
    with pytest.raises(ModelError, match="nothing to plan"):
        run(shell, runtime, "x.sum()")


def test_a_line_and_a_cell_ask_for_what_their_options_say(shell, asked, capsys):
    model = shell.user_ns["model"] = dense()
    made = shell.run_line_magic(
        "tpu_plan",
        "model x y --target v2-8,v5e-1 --batch-sizes 96,128 --precision keep,bfloat16 --yes --seconds 9 --memory 2",
    )
    assert made is FOUND and session.last_plan is FOUND and tpu.last_plan is FOUND
    assert asked[0].model is model and asked[0].x is X and asked[0].y is Y
    assert (asked[0].target, asked[0].batch_sizes) == (("v2-8", "v5e-1"), (96, 128))
    assert (asked[0].precision, asked[0].yes, asked[0].seconds, asked[0].memory_bytes) == (
        ("keep", "bfloat16"),
        True,
        9.0,
        2 * 2**30,
    )
    shell.run_cell_magic("tpu_plan", "", "model.fit(x, y, class_weight={0: 1.0, 1: 2.0}, verbose=0, callbacks=[])")
    assert asked[1].class_weight == {0: 1.0, 1: 2.0} and not hasattr(asked[1], "callbacks")
    assert asked[1].batch_sizes is None and asked[1].precision is None
    shell.run_line_magic("tpu_plan", "model.fit(x, y, batch_size=96)")
    assert asked[2].batch_size == 96
    out = capsys.readouterr().out
    assert out.count("Fits v2-8; best 96.") == 3 and "compiling" in out


def test_default_target_is_the_connected_slice_or_v5e_1():
    connected = SimpleNamespace(slice=SimpleNamespace(name="v2-8"))
    unknown = SimpleNamespace(slice=SimpleNamespace(name="v2-4096"))
    assert plans.default_target(connected) == "v2-8"
    assert [plans.default_target(one) for one in (None, unknown, SimpleNamespace(slice=None))] == ["v5e-1"] * 3


def test_a_fit_that_cannot_be_planned_is_named_with_its_line(shell, monkeypatch):
    def plan(model, x=None, y=None, **more):
        raise DataError("x has rows of shape (7,).", expected="(20,).", type_next="keras.Input((7,))")

    monkeypatch.setattr(planning, "plan", plan)
    shell.user_ns["model"] = dense()
    with pytest.raises(UsageError) as caught:
        shell.run_cell_magic("tpu_plan", "", "z = 1\nmodel.fit(x[:, :7], y)")
    assert str(caught.value).splitlines() == [
        "x has rows of shape (7,).",
        "Expected: (20,).",
        "Type: keras.Input((7,))",
        "In line 3 of the cell: model.fit(x[:, :7], y)",
    ]


def test_a_fit_trains_with_the_batch_and_the_precision_of_its_plan_and_says_why(asked):
    model = dense()
    with training(plan="v2-8"):
        model.fit(X, Y, epochs=1)
    (one,) = asked
    assert one.target == ("v2-8",) and one.precision == ("keep", "bfloat16") and one.batch_sizes is None
    made = session.last_run
    assert made.global_batch_size == 96 and "because" not in vars(FitOptions())
    changes = {change.rule: change for change in made.changes}
    assert changes["batch-size"].why == changes["precision"].why
    assert changes["batch-size"].why.startswith(
        "The TPU compiler's plan for v2-8 recommends it, by its estimates: Fits"
    )
    assert changes["precision"].after == "bfloat16 arithmetic" and changes["precision"].switch == "--no precision"
    assert model.layers[0].compute_dtype == "float32"


def test_what_is_given_by_hand_is_kept_and_planned_for(asked, runtime):
    def options(**given):
        return plans.planned_options(dense(), {"x": X, "y": Y}, runtime, FitOptions(plan="v2-8", quiet=True, **given))

    by_hand = options(batch_size=64, precision="float32")
    assert (by_hand.batch_size, by_hand.precision, by_hand.plan) == (64, "float32", None)
    assert (asked[-1].batch_sizes, asked[-1].precision) == ((64,), ("float32",))
    kept = options(batch_size="keep", no=("precision",))
    assert kept.batch_size == "keep" and asked[-1].precision == ("keep",)
    assert options(epochs=3, seed=7).epochs == 3


def test_batch_of_a_plan_is_fitted_to_the_rows_and_the_replicas(asked, monkeypatch):
    def chosen(advised, replicas, count):
        monkeypatch.setattr(planning, "plan", lambda *_, **__: tpu_plan(advised))
        here = SimpleNamespace(replicas=replicas, slice=None)
        made = plans.planned_options(
            dense(), {"x": X[:count], "y": Y[:count]}, here, FitOptions(plan="v2-8", quiet=True)
        )
        return made.batch_size, "fitted to the rows" in made.because

    def tpu_plan(advised):
        return Plan("net", (BEST,), recommended=FitOptions(batch_size=advised))

    assert chosen(96, 8, 200) == (96, False)
    assert chosen(100, 8, 200) == (96, True)
    assert chosen(4096, 8, 200) == (200, True)
    assert chosen(4096, 8, 190) == (184, True)
    assert chosen(3, 8, 200) == (8, True)


def test_a_plan_that_recommends_nothing_stops_the_fit(monkeypatch):
    full = Row("v2-8", 96, "", "out-of-memory", "Does not fit.")
    monkeypatch.setattr(planning, "plan", lambda *_, **__: Plan("net", (full,), verdict="Does not fit v2-8."))
    runs = len(session.runs)
    with pytest.raises(ModelError, match="recommends nothing to train with. Does not fit v2-8"), training(plan="v2-8"):
        dense().fit(X, Y)
    assert len(session.runs) == runs


def test_options_without_a_plan_are_left_alone_and_nothing_is_asked(asked):
    with training() as interceptor:
        assert interceptor._planned(dense(), {"x": X, "y": Y}) is interceptor.options
    assert not asked
