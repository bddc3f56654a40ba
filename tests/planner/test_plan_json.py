"""A plan and its JSON text tell the same; a text that is no plan is refused in words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from colab_tpu_magic.options import FitOptions
from colab_tpu_magic.planner.plan import Advice, Curve, CurvePoint, HostRate, Plan

from ..widgets.plans import refused, row, too_large

PLAN = Plan(
    "mlp",
    rows=(row(128, precision="bfloat16"), row(1024), too_large(), refused()),
    curves=(Curve("v5e-1", "", (CurvePoint(128, 4.5, True), CurvePoint(256, 8.5, False)), 1024, 4096),),
    advice=(Advice("Take bfloat16.", 1.3, 10.0, 13.0, "--precision bfloat16"),),
    host=HostRate(7.5, "of arrays", enough=False),
    verdict="Fits “v5e-1”.",
    recommended=FitOptions(batch_size=128, precision="bfloat16"),
    compiler="jax 0.10.2, libtpu 0.0.42.1",
    seconds=12.5,
    complete=False,
    problems=("Interrupted.",),
    most_rows=200,
)


def test_a_plan_comes_back_equal():
    back = Plan.from_json(PLAN.to_json())
    assert back == PLAN
    assert back.rows[0].memory.needed == PLAN.rows[0].memory.needed
    assert back.best() == PLAN.best()
    assert back.table() == PLAN.table()
    assert back.recommended == FitOptions(batch_size=128, precision="bfloat16")


def test_a_plan_of_nothing_comes_back_equal():
    assert Plan.from_json(Plan("empty").to_json()) == Plan("empty")


def test_of_the_options_only_the_unusual_are_told():
    assert json.loads(PLAN.to_json())["recommended"] == {"batch_size": 128, "precision": "bfloat16"}
    assert json.loads(Plan("empty").to_json())["recommended"] == {}


def test_a_field_that_is_not_there_has_its_usual_value():
    held = json.loads(PLAN.to_json())
    del held["most_rows"], held["rows"][0]["notes"], held["host"]
    back = Plan.from_json(json.dumps(held))
    assert back == replace(PLAN, most_rows=None, host=None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "no Plan"),
        ("{}", "model_name"),
        ('{"model_name": "m", "colour": 1}', "Plan has no colour"),
        ('{"model_name": "m", "rows": 3}', "3 is no list"),
        ('{"model_name": "m", "rows": [{"target": "v5e-1"}]}', "batch_size"),
        ('{"model_name": "m", "recommended": {"batch_size": "many"}}', "many"),
        ("not JSON", "Expecting value"),
    ],
)
def test_what_is_no_plan_is_refused_in_words(text, said):
    with pytest.raises(ValueError, match=said):
        Plan.from_json(text)
