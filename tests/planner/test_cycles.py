"""Estimated cycles are added up as often as a step runs each instruction."""

from __future__ import annotations

from typing import Any

import pytest

from colab_tpu_magic.planner.compiler import Compiled, Compiler
from colab_tpu_magic.planner.cycles import step_costs
from colab_tpu_magic.planner.hlo_text import HloTextError
from colab_tpu_magic.planner.targets import target

from .steps import recurrent, step_of


def estimate(cycles: int) -> str:
    return f', backend_config={{"window_config":{{"estimated_cycles":"{cycles}"}}}}'


def computation(name: str, *lines: str, entry: bool = False) -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return f"{'ENTRY ' if entry else ''}%{name} (p: f32[8]) -> f32[8] {{\n{body}}}\n\n"


INNER = computation(
    "inner", "%a = f32[80]{0} parameter(0)", 'ROOT %r = f32[80]{0} add(%a, %a), metadata={op_name="deep"}'
)


def looped(condition: str, start: int = 0, bound: int = 10, step: str = "add(%i, %one)", body: str = "") -> str:
    """Return a module with one loop whose body takes 100 cycles; its condition compares %i and %n."""
    return (
        INNER
        + computation(
            "body",
            "%s = (s32[], f32[80]{0}) parameter(0)",
            "%i = s32[] get-tuple-element(%s), index=0",
            "%v = f32[80]{0} get-tuple-element(%s), index=1",
            "%one = s32[] constant(1)",
            "%two = s32[] constant(2)",
            f"%next = s32[] {step}",
            f"%f = f32[8]{{0}} fusion(%v), kind=kLoop, calls=%inner{estimate(100)}",
            *body.splitlines(),
            "ROOT %t = (s32[], f32[80]{0}) tuple(%next, %f)",
        )
        + computation(
            "condition",
            "%s = (s32[], f32[80]{0}) parameter(0)",
            "%i = s32[] get-tuple-element(%s), index=0",
            f"%n = s32[] constant({bound})",
            f"ROOT %c = pred[] {condition}",
        )
        + computation(
            "main",
            "%x = f32[80]{0} parameter(0)",
            f"%start = s32[] constant({start})",
            "%first = (s32[], f32[80]{0}) tuple(%start, %x)",
            "ROOT %w = (s32[], f32[80]{0}) while(%first), condition=%condition, body=%body",
            entry=True,
        )
    )


@pytest.mark.parametrize(
    ("condition", "start", "bound", "step", "trips"),
    [
        ("compare(%i, %n), direction=LT", 0, 10, "add(%i, %one)", 10),
        ("compare(%n, %i), direction=GT", 0, 10, "add(%i, %one)", 10),
        ("compare(%i, %n), direction=LE", 0, 10, "add(%i, %one)", 11),
        ("compare(%i, %n), direction=NE", 2, 10, "add(%two, %i)", 4),
        ("compare(%i, %n), direction=LT", 1, 10, "add(%i, %two)", 5),
        ("compare(%i, %n), direction=GT", 9, -1, "subtract(%i, %one)", 10),
        ("compare(%i, %n), direction=GE", 9, 0, "subtract(%i, %one)", 10),
        ("compare(%i, %n), direction=LT", 10, 10, "add(%i, %one)", 0),
    ],
)
def test_a_loop_counts_as_often_as_it_runs(condition: str, start: int, bound: int, step: str, trips: int) -> None:
    found = step_costs(looped(condition, start, bound, step))
    assert found.cycles == 100 * trips and not found.notes
    assert found.costs[0].trips == trips


@pytest.mark.parametrize(
    ("condition", "step"),
    [
        ("compare(%i, %n), direction=LT", "multiply(%i, %two)"),  # never gets on from 0
        ("compare(%n, %i), direction=NE", "multiply(%i, %i)"),
        ("compare(%i, %n), direction=EQ", "add(%i, %one)"),
        ("compare(%i, %n), direction=GT", "add(%i, %one)"),
        ("custom-call(%i)", "add(%i, %one)"),
        ("compare(%i, %n), direction=LT", "custom-call(%i)"),
    ],
)
def test_a_loop_that_cannot_be_counted_counts_once_and_is_named(condition: str, step: str) -> None:
    found = step_costs(looped(condition, step=step))
    assert found.cycles == 100
    assert found.notes == ("How often loop w runs is known on the TPU only: counted once.",)


def test_a_loop_runs_as_often_as_one_before_it_has_counted() -> None:
    """TensorFlow's backward loop has the forward loop's counter for its limit."""
    text = looped("compare(%i, %n), direction=LT", 0, 10).replace(
        "ROOT %w = (s32[], f32[80]{0}) while(%first), condition=%condition, body=%body",
        "%w = (s32[], f32[80]{0}) while(%first), condition=%condition, body=%body\n"
        "  %counted = s32[] get-tuple-element(%w), index=0\n"
        "  %zero = s32[] constant(0)\n"
        "  %second = (s32[], f32[80]{0}, s32[]) tuple(%zero, %x, %counted)\n"
        "  ROOT %b = (s32[], f32[80]{0}, s32[]) while(%second), condition=%back_condition, body=%back",
    )
    back = computation(
        "back",
        "%s = (s32[], f32[80]{0}, s32[]) parameter(0)",
        "%i = s32[] get-tuple-element(%s), index=0",
        "%v = f32[80]{0} get-tuple-element(%s), index=1",
        "%m = s32[] get-tuple-element(%s), index=2",
        "%one = s32[] constant(1)",
        "%next = s32[] add(%i, %one)",
        f"%f = f32[8]{{0}} fusion(%v), kind=kLoop, calls=%inner{estimate(7)}",
        "ROOT %t = (s32[], f32[80]{0}, s32[]) tuple(%next, %f, %m)",
    ) + computation(
        "back_condition",
        "%s = (s32[], f32[80]{0}, s32[]) parameter(0)",
        "%i = s32[] get-tuple-element(%s), index=0",
        "%m = s32[] get-tuple-element(%s), index=2",
        "ROOT %c = pred[] compare(%i, %m), direction=LT",
    )
    found = step_costs(back + text)
    assert found.cycles == 10 * 100 + 10 * 7 and not found.notes


def test_a_fusion_counts_whole_and_takes_a_name_from_within() -> None:
    found = step_costs(looped("compare(%i, %n), direction=LT", bound=1))
    assert [(one.opcode, one.op_name, one.moved) for one in found.costs] == [("fusion", "deep", 320 + 32)]


def test_of_a_conditional_the_most_expensive_branch_counts() -> None:
    def branch(name: str, cycles: int) -> str:
        return computation(
            name, "%p = f32[80]{0} parameter(0)", f"ROOT %r{name} = f32[8]{{0}} negate(%p){estimate(cycles)}"
        )

    text = (
        branch("one", 10)
        + branch("two", 70)
        + branch("three", 30)
        + computation(
            "main",
            "%i = s32[] parameter(0)",
            "%x = f32[80]{0} parameter(1)",
            "ROOT %c = f32[80]{0} conditional(%i, %x, %x, %x), branch_computations={%one, %two, %three}",
            entry=True,
        )
    )
    found = step_costs(text)
    assert found.cycles == 70
    assert found.notes == ("Of the 3 branches of c, the one with the most cycles counts.",)


def test_what_is_called_counts_and_what_only_names_memory_does_not() -> None:
    text = computation("callee", f"ROOT %n = f32[8]{{0}} negate(%p){estimate(5)}") + computation(
        "main",
        "%x = f32[80]{0} parameter(0)",
        "%b = f32[80]{0} bitcast(%x)",
        '%a = f32[80]{0} custom-call(), custom_call_target="AllocateBuffer"',
        "%c = f32[80]{0} call(%b), to_apply=%callee",
        "%s = ((f32[80]{0}), f32[80]{0}, s32[]) async-start(%c), calls=%callee",
        "%d = f32[80]{0} async-done(%s)",
        "ROOT %t = (f32[80]{0}) tuple(%d)",
        entry=True,
    )
    found = step_costs(text)
    assert found.cycles == 10 and not found.unestimated


def test_what_has_no_estimate_is_listed_by_kind_and_origin() -> None:
    text = computation(
        "combined", "%p = f32[80]{0} parameter(0)", "ROOT %ar = f32[80]{0} all-reduce(%p)"
    ) + computation(
        "main",
        "%x = f32[80]{0} parameter(0)",
        "%scalar = f32[] parameter(1)",
        '%r = f32[80]{0} all-reduce(%x), metadata={op_name="sum"}, backend_config={"flag_configs":[]}',
        '%q = (f32[80]{0}, f32[]) all-reduce-start(%x, %scalar), metadata={op_name="sum"}',
        "%done = f32[80]{0} all-reduce-done(%q)",
        '%k = (f32[80]{0}, s32[80]{0}) custom-call(%x), custom_call_target="TopK"',
        "%h = f32[] divide(%scalar, %scalar)",
        '%j = u64[2]{0} custom-call(%scalar), custom_call_target="X64Combine"',
        '%o = u64[9]{0} custom-call(%scalar), custom_call_target="X64Combine"',
        "%z = s32[] constant(0)",
        "%u = f32[1]{0} copy(%x)",
        "%d = f32[80]{0} dynamic-update-slice(%x, %w, %z)",
        "%w = f32[40]{0} negate(%x)",
        f"%f = f32[8]{{0}} fusion(%x), kind=kCustom, calls=%combined{estimate(20)}",
        "ROOT %y = f32[80]{0} sort(%x), dimensions={0}",
        entry=True,
    )
    found = step_costs(text)
    assert found.cycles == 20
    assert {(one.opcode, one.op_name): (one.runs, one.bytes) for one in found.unestimated} == {
        ("all-reduce", "sum"): (2.0, 320 + 324),
        ("all-reduce", ""): (1.0, 320),
        ("custom-call TopK", ""): (1.0, 640),
        ("custom-call X64Combine", ""): (1.0, 72),
        ("dynamic-update-slice", ""): (1.0, 160),
        ("negate", ""): (1.0, 160),
        ("sort", ""): (1.0, 320),
    }


def test_what_tells_no_origin_takes_that_of_its_source_its_loop_or_its_use() -> None:
    body = f"%copied = f32[8]{{0}} copy(%v){estimate(1)}"
    text = looped("compare(%i, %n), direction=LT", body=body).replace(
        "body=%body", 'body=%body, metadata={op_name="jit(f)/jvp(lstm)/while"}'
    )
    text = text.replace(
        "%first = (s32[], f32[80]{0}) tuple(%start, %x)",
        f'%n = f32[8]{{0}} negate(%x), metadata={{op_name="jit(f)/jvp(dense)/neg"}}{estimate(2)}\n'
        f"  %m = f32[8]{{0}} copy(%n){estimate(3)}\n"
        f"  %zeros = f32[8]{{0}} broadcast(%start){estimate(4)}\n"
        f"  %first = (s32[], f32[8]{{0}}) tuple(%start, %zeros)",
    )
    origins = {one.cycles: one.op_name for one in step_costs(text).costs}
    assert origins == {
        100: "deep",
        1: "jit(f)/jvp(lstm)/while",
        2: "jit(f)/jvp(dense)/neg",
        3: "jit(f)/jvp(dense)/neg",
        4: "jit(f)/jvp(lstm)/while",
    }


def test_a_conditional_without_branches_is_refused() -> None:
    text = computation("main", "ROOT %c = f32[] conditional(%i, %a)", entry=True)
    with pytest.raises(HloTextError, match="conditional c has no branches"):
        step_costs(text)


# From here on the compiler itself writes the text.


def answer(compiler: Compiler, step: Any, name: str = "v5e-1") -> Compiled:
    found = compiler.compile(step, target(name))
    assert isinstance(found, Compiled) and not found.as_text_failed, found
    return found


def looped_cycles(found: Compiled) -> dict[float, float]:
    """Return the cycles by how often they run."""
    sums: dict[float, float] = {}
    for one in found.costs:
        sums[one.trips] = sums.get(one.trips, 0) + one.cycles * one.trips
    return sums


@pytest.mark.compiler
def test_a_recurrence_of_twice_the_steps_takes_twice_the_cycles_in_its_loops(compiler: Compiler) -> None:
    fifty, hundred = (looped_cycles(answer(compiler, recurrent(steps))) for steps in (50, 100))
    assert hundred[100] / fifty[50] == pytest.approx(2, rel=0.05)
    assert fifty[50] > 0.5 * sum(fifty.values())  # nearly all of it is in the loops


@pytest.mark.compiler
def test_loops_in_loops_multiply(compiler: Compiler) -> None:
    import jax
    import jax.numpy as jnp

    def nested(x: Any) -> Any:
        def inner(carry: Any, _: Any) -> Any:
            return jnp.tanh(carry @ x), None

        def outer(carry: Any, _: Any) -> Any:
            return jax.lax.scan(inner, carry, None, length=7)[0] * 1.5, None

        return jax.lax.scan(outer, x, None, length=5)[0]

    found = answer(compiler, step_of(nested, ((256, 256), "float32")))
    assert set(looped_cycles(found)) == {1.0, 5.0, 35.0} and not found.notes


@pytest.mark.compiler
def test_a_loop_that_counts_down_by_two_is_counted(compiler: Compiler) -> None:
    import jax
    import jax.numpy as jnp

    def down(x: Any) -> Any:
        def body(state: Any) -> Any:
            return state[0] - 2, jnp.tanh(state[1] @ x)

        return jax.lax.while_loop(lambda state: state[0] > 3, body, (jnp.int32(20), x))[1]

    assert 9.0 in looped_cycles(answer(compiler, step_of(down, ((256, 256), "float32"))))


@pytest.mark.compiler
def test_a_loop_that_waits_for_a_value_counts_once_with_a_note(compiler: Compiler) -> None:
    import jax
    import jax.numpy as jnp

    def until_small(x: Any) -> Any:
        return jax.lax.while_loop(lambda now: jnp.abs(now).sum() > 1e-3, lambda now: jnp.tanh(now @ x) * 0.5, x)

    found = answer(compiler, step_of(until_small, ((256, 256), "float32")))
    assert [note for note in found.notes if "known on the TPU only" in note and "/while" in note]
    assert set(looped_cycles(found)) == {1.0}


@pytest.mark.compiler
def test_the_most_expensive_branch_of_a_real_conditional_counts(compiler: Compiler) -> None:
    import jax
    import jax.numpy as jnp

    branches = [lambda v: v, lambda v: jnp.tanh(v @ v), lambda v: jnp.tanh(v @ v) @ v @ v]
    shapes = (((), "int32"), ((512, 512), "float32"))
    whole = answer(compiler, step_of(lambda i, v: jax.lax.switch(i, branches, v), *shapes))
    named = {part for one in whole.costs for part in one.op_name.split("/") if part.startswith("branch_")}
    assert named == {"branch_2_fun"}
    assert "Of the 3 branches" in whole.notes[0]


@pytest.mark.compiler
def test_a_large_matrix_product_comes_near_the_peak_of_the_chip(compiler: Compiler) -> None:
    """8192³ in bfloat16: 173 TFLOP/s of 197 on v5e, by the estimate and the clock."""
    shape = ((8192, 8192), "bfloat16")
    one = target("v5e-1")
    found = answer(compiler, step_of(lambda x, w: x @ w, shape, shape))
    assert 2 * 8192**3 / (found.cycles / one.clock_hz) == pytest.approx(0.88 * one.peak_flops, rel=0.05)


@pytest.mark.compiler
@pytest.mark.parametrize("name", ["v5e-1", "v6e-1"])
def test_sorting_and_pooling_backwards_have_no_estimate_and_are_listed(compiler: Compiler, name: str) -> None:
    import jax
    import jax.numpy as jnp

    def pooled(x: Any) -> Any:
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()

    step = step_of(lambda x: (jax.grad(pooled)(x), jnp.sort(x, axis=-1)), ((8, 32, 32, 128), "float32"))
    kinds = {one.opcode for one in answer(compiler, step, name).unestimated}
    assert {"select-and-scatter", "sort"} <= kinds
