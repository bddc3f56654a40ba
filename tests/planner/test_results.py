"""Answers of the compiler come back from JSON as they went in."""

from __future__ import annotations

import json

import pytest

from colab_tpu_magic.planner.results import Compiled, Cost, Memory, Refused, Unestimated, from_json

COMPILED = Compiled(
    memory=Memory(argument=100, output=90, alias=80, temp=70, code=60, peak=170),
    flops=1.5e9,
    costs=(Cost("jit(f)/dot", "fusion", 1000, 200.0, 512), Cost("", "copy", 10, 0.5, 8)),
    unestimated=(Unestimated("all-reduce", "jit(f)/sum", 3.0, 4096),),
    as_text_failed=False,
    text_error="",
    libtpu="0.0.42.1",
    jax="0.10.2",
    seconds=1.25,
    notes=("One branch.",),
)


def test_a_compiled_step_comes_back_equal() -> None:
    assert from_json(COMPILED.to_json()) == COMPILED


def test_cycles_are_counted_by_trips() -> None:
    assert COMPILED.cycles == 200_005


def test_a_refusal_comes_back_equal() -> None:
    refused = Refused("out-of-memory", "Does not fit.", 20 << 30, 16 << 30)
    assert from_json(refused.to_json()) == refused


@pytest.mark.parametrize(("kind", "lasting"), [("out-of-memory", True), ("unsupported", True), ("time", False)])
def test_only_what_the_compiler_would_say_again_lasts(kind: str, lasting: bool) -> None:
    assert Refused(kind, "").lasting is lasting


@pytest.mark.parametrize("text", ["[]", "{}", '{"type": "other"}', '{"type": "refused"}', "not JSON", "3"])
def test_what_is_no_answer_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        from_json(text)


def test_an_answer_with_a_field_of_another_version_is_a_value_error() -> None:
    other = json.loads(COMPILED.to_json()) | {"colour": "red"}
    with pytest.raises(ValueError, match="not an answer"):
        from_json(json.dumps(other))
