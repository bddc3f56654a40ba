"""Loops are counted through tuples, fusions and values that they carry along."""

from __future__ import annotations

from typing import Any

import pytest

from colab_tpu_magic.planner.hlo_text import Module, parse
from colab_tpu_magic.planner.hlo_values import Values


def module_of(*computations: tuple[str, list[str]]) -> Module:
    """Return a module of computations, each a name and its lines; the last one is the entry."""
    text = ""
    for place, (name, lines) in enumerate(computations):
        entry = "ENTRY " if place == len(computations) - 1 else ""
        text += f"{entry}%{name} (p: s32[]) -> s32[] {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"
    return parse(text)


def value(*lines: str, of: str = "r", given: dict[int, Any] | None = None) -> Any:
    """Return the value of an instruction of one computation."""
    module = module_of(("main", list(lines)))
    return Values(module).of(module["main"], of, given or {})


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%r = s32[] constant(-7)", -7),
        ("%r = u32[]{:T(128)} constant(7)", 7),
        ("%r = f32[] constant(7)", None),  # no counter is a float
        ("%r = s32[2]{0} constant({1, 2})", None),
        ("%r = pred[] constant(true)", None),
        ("%r = s32[] add(%five, %two)", 7),
        ("%r = s32[] subtract(%five, %two)", 3),
        ("%r = s32[] multiply(%five, %two)", 10),
        ("%r = s32[] divide(%five, %two)", None),
        ("%r = s32[] add(%five, %unknown)", None),
        ("%r = s32[]{:T(128)} copy(%five)", 5),
        ("%r = s64[] convert(%five)", 5),
        ("%r = s32[] bitcast(%given)", 11),
        ("%r = s32[] nobody-knows(%five)", None),
        ("%r = (s32[], s32[]) tuple(%five, %unknown)", (5, None)),
        ("%r = s32[] get-tuple-element(%pair), index=1", 22),
        ("%r = s32[] get-tuple-element(%pair), index=9", None),
        ("%r = s32[] get-tuple-element(%five), index=0", None),
    ],
)
def test_numbers_are_followed_as_far_as_the_text_fixes_them(line: str, expected: object) -> None:
    lines = (
        "%given = s32[] parameter(0)",
        "%pair = (s32[], s32[]) parameter(1)",
        "%unknown = s32[] parameter(2)",
        "%five = s32[] constant(5)",
        "%two = s32[] constant(2)",
        line,
    )
    assert value(*lines, given={0: 11, 1: (21, 22)}) == expected


def test_a_chain_without_end_is_unknown_and_not_a_crash() -> None:
    assert value("%a = s32[] copy(%b)", "%b = s32[] copy(%a)", of="a") is None


def looped(
    body: list[str], condition: list[str], first: str, more: tuple[tuple[str, list[str]], ...] = ()
) -> int | None:
    """Return how often a loop over ``(counter, bound, other)`` runs."""
    kind = "(s32[], s32[], f32[8]{0})"
    parts = [f"%{name} = s32[] get-tuple-element(%s), index={place}" for place, name in enumerate(("i", "n", "v"))]
    module = module_of(
        *more,
        ("body", [f"%s = {kind} parameter(0)", *parts, "%one = s32[] constant(1)", *body]),
        ("condition", [f"%s = {kind} parameter(0)", *parts, *condition]),
        (
            "main",
            [
                "%zero = s32[] constant(0)",
                "%forty = s32[] constant(40)",
                "%x = f32[8]{0} parameter(0)",
                f"%first = {kind} tuple({first})",
                f"ROOT %w = {kind} while(%first), condition=%condition, body=%body",
            ],
        ),
    )
    return Values(module).trips(module["main"], module["main"].by_name["w"], {})


STEP = ["%next = s32[] add(%i, %one)", "ROOT %t = (s32[], s32[], f32[8]{0}) tuple(%next, %n, %v)"]


def test_a_bound_that_the_loop_carries_along_is_found_where_it_begins() -> None:
    assert looped(STEP, ["ROOT %c = pred[] compare(%i, %n), direction=LT"], "%zero, %forty, %x") == 40


def test_the_counter_may_be_any_of_the_loops_values() -> None:
    body = ["%next = s32[] add(%n, %one)", "ROOT %t = (s32[], s32[], f32[8]{0}) tuple(%i, %next, %v)"]
    condition = ["%bound = s32[] constant(7)", "ROOT %c = pred[] compare(%n, %bound), direction=LT"]
    assert looped(body, condition, "%forty, %zero, %x") == 7


def test_a_sum_of_the_counter_may_be_compared() -> None:
    condition = [
        "%one = s32[] constant(1)",
        "%k = s32[] add(%i, %one)",
        "ROOT %c = pred[] compare(%k, %n), direction=LT",
    ]
    assert looped(STEP, condition, "%zero, %forty, %x") == 39


def test_a_counter_that_grows_by_itself_is_not_counted() -> None:
    body = ["%next = s32[] add(%i, %i)", "ROOT %t = (s32[], s32[], f32[8]{0}) tuple(%next, %n, %v)"]
    assert (
        looped(body, ["%b = s32[] constant(99)", "ROOT %c = pred[] compare(%i, %b), direction=LT"], "%forty, %zero, %x")
        is None
    )


def test_a_comparison_and_a_step_in_fusions_are_found() -> None:
    compared = (
        "compared",
        [
            "%a = s32[] parameter(0)",
            "%b = s32[] parameter(1)",
            "ROOT %c = pred[] compare(%b, %a), direction=GE",
        ],
    )
    added = ("added", ["%a = s32[] parameter(0)", "%two = s32[] constant(2)", "ROOT %r = s32[] add(%a, %two)"])
    body = [
        "%next = s32[] fusion(%i), kind=kLoop, calls=%added",
        "ROOT %t = (s32[], s32[], f32[8]{0}) tuple(%next, %n, %v)",
    ]
    condition = ["%f = pred[] fusion(%i, %n), kind=kLoop, calls=%compared", "ROOT %copied = pred[] copy(%f)"]
    assert looped(body, condition, "%zero, %forty, %x", (compared, added)) == 21  # 0, 2, …, 40


@pytest.mark.parametrize(
    ("body", "first"),
    [
        (STEP, "%unknown, %forty, %x"),  # begins where only the TPU knows
        (STEP, "%zero, %unknown, %x"),  # ends there
        (["ROOT %t = (s32[], s32[], f32[8]{0}) tuple(%i, %n, %v)"], "%zero, %forty, %x"),  # never gets on
        (["ROOT %t = (s32[], s32[], f32[8]{0}) custom-call(%s)"], "%zero, %forty, %x"),
    ],
)
def test_what_is_not_fixed_is_not_guessed(body: list[str], first: str) -> None:
    assert looped(body, ["ROOT %c = pred[] compare(%i, %n), direction=LT"], first) is None


def test_only_what_a_body_leaves_alone_is_known_in_it() -> None:
    module = module_of(
        (
            "body",
            [
                "%s = (s32[], s32[]) parameter(0)",
                "%i = s32[] get-tuple-element(%s), index=0",
                "%n = s32[] get-tuple-element(%s), index=1",
                "%one = s32[] constant(1)",
                "%next = s32[] add(%i, %one)",
                "ROOT %t = (s32[], s32[]) tuple(%next, %n)",
            ],
        ),
        ("main", ["ROOT %w = (s32[], s32[]) while(%first), condition=%nobody, body=%body"]),
    )
    loop = module["main"].root
    assert Values(module).kept(loop, (3, 9)) == (None, 9)
    assert Values(module).kept(loop, None) is None
