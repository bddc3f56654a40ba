"""A module laid out over devices and written portably; FLOPs of modules that are written here by hand."""

from __future__ import annotations

from typing import Any

import pytest

from colab_tpu_magic.planner.lower.flops import flops_of
from colab_tpu_magic.planner.lower.portable import STABLEHLO_VERSION, context, laid_out, main_of, without_places
from colab_tpu_magic.planner.module import BATCH, PARAMETER, Argument

DENSE = """
#loc1 = loc("/home/someone/model.py":3:4 to :9)
#loc2 = loc("Dense.call"(#loc1))
#loc3 = loc(callsite(#loc2 at #loc1))
#loc4 = loc("jit(train_step)/jvp(dense)/dot_general"(#loc3))
#loc5 = loc("forward/dense/BiasAdd")
#loc6 = loc(fused[#loc5, #loc1])
module @jit_step attributes {mhlo.num_partitions = 1 : i32, other.note = "x"} {
  func.func public @main(%w: tensor<4x3xf32>, %x: tensor<16x4xf32>) -> (tensor<16x3xf32>, tensor<4x3xf32>) {
    %unused = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x4xf32>, tensor<4x3xf32>) -> tensor<16x3xf32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x4xf32>, tensor<4x3xf32>) -> tensor<16x3xf32> loc(#loc4)
    %z = stablehlo.add %y, %y : tensor<16x3xf32> loc(#loc6)
    %new = mhlo.copy %w : tensor<4x3xf32>
    return %z, %new : tensor<16x3xf32>, tensor<4x3xf32>
  }
}
"""
ARGUMENTS = (Argument("w", PARAMETER, (4, 3), "float32"), Argument("x", BATCH, (16, 4), "float32", sharded=True))


def read(artifact: bytes) -> tuple[str, list[str]]:
    """Return an artifact as text, and what is said of the arguments of its main."""
    from jaxlib.mlir.dialects import stablehlo

    with context() as made:
        module = stablehlo.deserialize_portable_artifact(made, artifact)
        return module.operation.get_asm(enable_debug_info=True), [str(one) for one in main_of(module).arg_attrs]


def counted(text: str) -> tuple[float, int]:
    """Return what is counted of a module's text."""
    from jaxlib.mlir import ir

    with context():
        return flops_of(ir.Module.parse(text))


def test_the_batch_is_divided_and_the_state_is_whole_on_each_device() -> None:
    artifact, flops, uncounted = laid_out(DENSE, ARGUMENTS, {0: 1}, devices=8)
    text, said = read(artifact)
    assert 'mhlo.sharding = "{replicated}"' in said[0] and "tf.aliasing_output = 1 : i32" in said[0]
    assert 'mhlo.sharding = "{devices=[8,1]<=[8]}"' in said[1] and "aliasing" not in said[1]
    assert "mhlo.num_partitions = 8 : i32" in text
    assert (flops, uncounted) == (2 * 16 * 4 * 3, 0)


def test_one_device_needs_no_sharding() -> None:
    text, said = read(laid_out(DENSE, ARGUMENTS, {}, devices=1)[0])
    assert said == ["{}", "{}"]
    assert "mhlo.sharding" not in text and "other.note" not in text


def test_copies_and_what_nobody_uses_are_taken_out() -> None:
    text, _ = read(laid_out(DENSE, ARGUMENTS, {}, devices=1)[0])
    assert text.count("stablehlo.dot_general") == 1
    assert "mhlo.copy" not in text


def test_names_survive_and_places_do_not() -> None:
    text, _ = read(laid_out(DENSE, ARGUMENTS, {}, devices=1)[0])
    assert '"jit(train_step)/jvp(dense)/dot_general"' in text
    assert '"forward/dense/BiasAdd"' in text
    assert "someone" not in text and "Dense.call" not in text


def test_a_step_from_another_folder_is_the_same_step() -> None:
    there = DENSE.replace("/home/someone/model.py", "/tmp/copy.py").replace(":3:4", ":30:4")
    assert laid_out(there, ARGUMENTS, {}, 2) == laid_out(DENSE, ARGUMENTS, {}, 2)


def test_the_version_is_old_enough_for_the_pinned_compiler() -> None:
    artifact = laid_out(DENSE, ARGUMENTS, {}, devices=1)[0]
    assert f"StableHLO_v{STABLEHLO_VERSION}".encode() in artifact


def test_arguments_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match="takes 2 arguments, and 1 are known"):
        laid_out(DENSE, ARGUMENTS[:1], {}, devices=1)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ('#loc7 = loc("a/b")', '#loc7 = loc("a/b")'),
        ('#loc7 = loc("a/b"(#loc3))', '#loc7 = loc("a/b")'),
        (r'#loc7 = loc("a\"(b"(#loc3))', r'#loc7 = loc("a\"(b")'),
        ('#loc7 = loc("f.py":1:2)', "#loc7 = loc(unknown)"),
        ('#loc7 = loc("f.py":1:2 to 3:4)', "#loc7 = loc(unknown)"),
        ("#loc7 = loc(callsite(#loc1 at #loc2))", "#loc7 = loc(unknown)"),
        ("%1 = stablehlo.add %0, %0 : tensor<f32> loc(#loc7)", "%1 = stablehlo.add %0, %0 : tensor<f32> loc(#loc7)"),
    ],
)
def test_of_a_location_the_name_is_kept(line: str, kept: str) -> None:
    assert without_places(line) == kept


def loop(condition: str, body: str, start: int = 0) -> str:
    """Return a module whose loop multiplies two 8x8 matrices in each run; one costs 1024 operations."""
    return f"""
func.func private @below(%i: tensor<i32>, %n: tensor<i32>) -> tensor<i1> {{
  %0 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  return %0 : tensor<i1>
}}
func.func public @main(%x: tensor<8x8xf32>, %unknown: tensor<i32>) -> (tensor<i32>, tensor<8x8xf32>) {{
  %start = stablehlo.constant dense<{start}> : tensor<i32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end:3 = stablehlo.while(%i = %start, %n = %seven, %a = %x) : tensor<i32>, tensor<i32>, tensor<8x8xf32>
  cond {{
    {condition}
    stablehlo.return %go : tensor<i1>
  }} do {{
    %b = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    {body}
    stablehlo.return %next, %n, %b : tensor<i32>, tensor<i32>, tensor<8x8xf32>
  }}
  return %end#0, %end#2 : tensor<i32>, tensor<8x8xf32>
}}"""


TYPES = "(tensor<i32>, tensor<i32>) -> tensor<i1>"
UP = "%next = stablehlo.add %i, %one : tensor<i32>"


@pytest.mark.parametrize(
    ("condition", "body", "start", "trips"),
    [
        (f"%go = stablehlo.compare LT, %i, %n : {TYPES}", UP, 0, 7),
        (f"%go = stablehlo.compare LT, %i, %seven : {TYPES}", UP, 2, 5),
        (f"%go = stablehlo.compare LE, %i, %n : {TYPES}", UP, 0, 8),
        (f"%go = stablehlo.compare GT, %n, %i : {TYPES}", "%next = stablehlo.add %one, %i : tensor<i32>", 0, 7),
        (f"%go = stablehlo.compare NE, %i, %n : {TYPES}", UP, 0, 7),
        (f"%go = stablehlo.compare GE, %i, %one : {TYPES}", "%next = stablehlo.subtract %i, %one : tensor<i32>", 4, 4),
        (f"%go = stablehlo.compare LT, %i, %n : {TYPES}", "%two = stablehlo.constant dense<2> : tensor<i32>\n"
         "%next = stablehlo.add %i, %two : tensor<i32>", 0, 4),
        (f"%p = stablehlo.compare LT, %i, %n : {TYPES}\n%three = stablehlo.constant dense<3> : tensor<i32>\n"
         f"%q = stablehlo.compare LT, %i, %three : {TYPES}\n%go = stablehlo.and %p, %q : tensor<i1>", UP, 0, 3),
        ("%go = func.call @below(%i, %n) : (tensor<i32>, tensor<i32>) -> tensor<i1>",
         "%r = stablehlo.add %i, %one : tensor<i32>\n%next = stablehlo.reshape %r : (tensor<i32>) -> tensor<i32>", 0, 7),
        (f"%go = stablehlo.compare LT, %i, %n : {TYPES}", UP, 9, 0),
    ],
)  # fmt: skip
def test_a_loop_counts_as_often_as_it_runs(condition: str, body: str, start: int, trips: int) -> None:
    assert counted(loop(condition, body, start)) == (1024 * trips, 0)


@pytest.mark.parametrize(
    ("condition", "body"),
    [
        (f"%go = stablehlo.compare LT, %i, %unknown : {TYPES}", UP),
        (f"%go = stablehlo.compare LT, %i, %n : {TYPES}", "%next = stablehlo.multiply %i, %i : tensor<i32>"),
        (f"%go = stablehlo.compare EQ, %i, %n : {TYPES}", UP),
        ("%go = stablehlo.constant dense<true> : tensor<i1>", UP),
    ],
)
def test_a_loop_of_unknown_length_counts_once_and_is_told(condition: str, body: str) -> None:
    assert counted(loop(condition, body)) == (1024, 1)


def test_a_second_loop_may_run_as_often_as_the_first_has() -> None:
    first = loop(f"%go = stablehlo.compare LT, %i, %n : {TYPES}", UP)
    second = """
  %back:2 = stablehlo.while(%j = %start, %c = %end#2) : tensor<i32>, tensor<8x8xf32>
  cond {
    %more = stablehlo.compare LT, %j, %end#0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %d = stablehlo.dot_general %c, %c, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %k = stablehlo.add %j, %one : tensor<i32>
    stablehlo.return %k, %d : tensor<i32>, tensor<8x8xf32>
  }
  return %end#0, %back#1"""
    assert counted(first.replace("\n  return %end#0, %end#2", second)) == (1024 * 14, 0)


def test_a_function_counts_each_time_that_it_is_called_and_of_a_choice_the_dearest_branch() -> None:
    text = """
func.func private @twice(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %b = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}
func.func public @main(%x: tensor<8x8xf32>, %p: tensor<i1>) -> tensor<8x8xf32> {
  %a = func.call @twice(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = func.call @twice(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = "stablehlo.if"(%p) ({
    %d = func.call @twice(%b) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %e = func.call @twice(%d) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    stablehlo.return %e : tensor<8x8xf32>
  }, {
    %f = func.call @twice(%b) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    stablehlo.return %f : tensor<8x8xf32>
  }) : (tensor<i1>) -> tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}"""
    assert counted(text) == (4 * 1024, 0)


def convolution(given: str, kernel: str, made: str, window: str, groups: str = "") -> str:
    return f"""
func.func public @main(%x: tensor<{given}>, %k: tensor<{kernel}>) -> tensor<{made}> {{
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{{window}}}
    {{batch_group_count = 1 : i64, feature_group_count = {groups or 1} : i64}}
    : (tensor<{given}>, tensor<{kernel}>) -> tensor<{made}>
  return %0 : tensor<{made}>
}}"""


@pytest.mark.parametrize(
    ("given", "kernel", "made", "window", "groups", "pairs"),
    [
        # pairs of an output and a kernel position that meet the input, times channels of both
        ("2x7x3xf32", "3x3x5xf32", "2x5x5xf32", "stride = [1]", "", 5 * 3 * 3 * 5),
        ("2x7x3xf32", "3x3x5xf32", "2x7x5xf32", "pad = [[1, 1]]", "", (7 * 3 - 2) * 3 * 5),
        ("2x7x3xf32", "3x3x5xf32", "2x3x5xf32", "stride = [2]", "", 3 * 3 * 3 * 5),
        ("2x7x4xf32", "3x1x4xf32", "2x5x4xf32", "stride = [1]", "4", 5 * 3 * 4),
        ("2x7x3xf32", "3x3x5xf32", "2x3x5xf32", "rhs_dilate = [2]", "", 3 * 3 * 3 * 5),
        # the gradient of a strided convolution: 3 values with holes between, as many pairs as forward
        ("2x3x5xf32", "3x5x3xf32", "2x7x3xf32", "pad = [[2, 2]], lhs_dilate = [2]", "", 3 * 3 * 3 * 5),
    ],
)
def test_a_convolution_counts_where_kernel_and_input_meet(
    given: str, kernel: str, made: str, window: str, groups: str, pairs: int
) -> None:
    assert counted(convolution(given, kernel, made, window, groups)) == (2 * 2 * pairs, 0)


DRAW = """
func.func public @main(%s: tensor<3xui64>) -> RESULTS {
  %state, %bits = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return VALUES
}"""


@pytest.mark.parametrize(
    ("results", "values", "drawn"),
    [
        ("tensor<4xui32>", "%bits : tensor<4xui32>", "DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)"),
        (
            "(tensor<4xui32>, tensor<3xui64>)",
            "%bits, %state : tensor<4xui32>, tensor<3xui64>",
            "PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)",
        ),
    ],
)
def test_random_bits_come_from_the_devices_own_generator(results: str, values: str, drawn: str) -> None:
    arguments: tuple[Any, ...] = (Argument("seed", "state", (3,), "uint64"),)
    text, _ = read(laid_out(DRAW.replace("RESULTS", results).replace("VALUES", values), arguments, {}, 1)[0])
    line = next(line for line in text.splitlines() if "rng_bit_generator" in line)
    assert " ".join(drawn.split()) in " ".join(line.split())
