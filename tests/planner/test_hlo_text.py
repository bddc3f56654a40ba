"""The compiler's text is read form by form, and what is not known is refused."""

from __future__ import annotations

import pytest

from colab_tpu_magic.planner.hlo_text import HloTextError, parse, parse_instruction, shape_bytes, tuple_parts

FUSION = (
    "  ROOT %multiply_add_fusion.3 = (f32[8,128]{1,0:T(8,128)(2,1)S(1)}, /*index=1*/bf16[3]{0:T(256)}) "
    'fusion(%copy-done.1, f32[] %p.2), kind=kLoop, calls=%fused_computation.3, metadata={op_name="jit(f)/jvp(a \\"b\\")/mul"'
    ' stack_frame_id=7}, backend_config={"flag_configs":[],"window_config":{"estimated_cycles":"1234","debug":"a } \\" b"},'
    '"aliasing_operands":{"lists":[]}}'
)


def test_an_instruction_is_cut_into_its_parts() -> None:
    one = parse_instruction(FUSION)
    assert (one.name, one.opcode, one.root) == ("multiply_add_fusion.3", "fusion", True)
    assert one.operand_names == ("copy-done.1", "p.2")
    assert one.called("calls") == ("fused_computation.3",) and one.called("body") == ()
    assert one.op_name == 'jit(f)/jvp(a "b")/mul'
    assert one.cycles == 1234
    assert one.bytes == 4 * 8 * 128 + 2 * 3


def test_a_name_with_quotes_of_either_kind_is_read() -> None:
    line = "  %p = f32[8]{0} parameter(0), metadata={op_name=\"x[\\'image\\']\"}"
    assert parse_instruction(line).op_name == "x['image']"


@pytest.mark.parametrize(
    "config",
    [
        "",
        ", backend_config={}",
        ', backend_config={"window_config":{}}',
        ', backend_config={"window_config":{"estimated_cycles":"9223372036854775807"}}',
        ', backend_config="words"',
    ],
)
def test_no_estimate_is_none_and_never_a_huge_number(config: str) -> None:
    assert parse_instruction(f"  %a = f32[] add(%b, %c){config}").cycles is None


def test_an_estimate_of_zero_is_one() -> None:
    assert parse_instruction('  %a = f32[] add(%b), backend_config={"estimated_cycles":"0"}').cycles == 0


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("f32[]{:T(128)}", 4),
        ("f32[0,8]{1,0}", 0),
        ("s4[3]{0}", 2),
        ("f8e4m3fn[16]{0}", 16),
        ("c64[2]{0}", 16),
        ("pred[7]{0:T(256)}", 7),
        ("((f32[2]{0}, u8[1]{0}), token[])", 9),
        ("f32[<=16,2]{1,0}", 128),
    ],
)
def test_the_bytes_of_a_type_are_those_of_its_values(shape: str, size: int) -> None:
    assert shape_bytes(shape) == size


def test_an_unknown_number_type_is_refused() -> None:
    with pytest.raises(HloTextError, match="'q7'"):
        shape_bytes("q7[2]{0}")


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("  %a = (f32[4]{0}, f32[4]{0:S(1)}, u32[]{:S(2)}) copy-start(%b)", 16),
        ("  %a = ((f32[100]{0}), f32[4]{0:S(1)}, s32[]{:S(2)}) slice-start(%b), slice={[0:4]}", 16),
        ("  %a = (f32[4]{0}, bf16[2]{0}) all-reduce-start(%b, %c), to_apply=%add", 20),
        ("  %a = (f32[4]{0}, f32[32]{0}) all-gather-start(%b), dimensions={0}", 128),
    ],
)
def test_an_asynchronous_start_moves_what_arrives(line: str, size: int) -> None:
    assert parse_instruction(line).bytes == size


def test_branches_are_named_in_order() -> None:
    one = parse_instruction("  %c = f32[] conditional(%i, %a, %b), branch_computations={%left.1, %right.2}")
    assert one.called("branch_computations") == ("left.1", "right.2")


def test_parts_of_a_tuple_keep_their_layouts() -> None:
    parts = tuple_parts("(s32[]{:T(128)}, /*index=1*/(f32[2,3]{1,0:T(8,128)}, pred[]), u8[4]{0})")
    assert parts == ("s32[]{:T(128)}", "(f32[2,3]{1,0:T(8,128)}, pred[])", "u8[4]{0}")


def test_tables_of_places_in_the_source_are_passed_over() -> None:
    text = (
        'HloModule f, is_scheduled=true\n\nFileNames\n1 "a.py"\n\nFunctionNames\n1 "<module>"\n\nFileLocations\n'
        "1 {file_name_id=1}\n\nStackFrames\n1 {file_location_id=1}\n\n"
        "%inner.1 (p: f32[]) -> f32[] {\n  ROOT %p = f32[] parameter(0)\n}\n\n"
        "ENTRY %main (x: (f32[8], s32[])) -> f32[] {\n  %x = f32[] parameter(0)\n"
        '  ROOT %c = f32[] call(%x), to_apply=%inner.1\n}, execution_thread="main"\n'
    )
    module = parse(text)
    assert module.entry == "main" and list(module.computations) == ["inner.1", "main"]
    assert module["main"].root.name == "c"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no entry"),
        ("some words\n", "'some words'"),
        ("ENTRY %m (x: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n", "no end"),
        ("ENTRY %m (x: f32[]) -> f32[] {\n}\n", "empty"),
        ("ENTRY %m (x: f32[]) -> f32[] {\n  x is 3\n}\n", "line 2 is no instruction"),
        ("ENTRY %m (x: f32[]) -> f32[] {\n  %x = f32[]\n}\n", "line 2 has no operation"),
        ("ENTRY %m (x: f32[]) -> f32[] {\n  %x = f32[] add(%a, {1, 2\n}\n", "not closed"),
        ("ENTRY %m (x: f32[]) -> f32[] {\n  %x = (f32[], (s32[] add(%a)\n}\n", "not closed"),
    ],
)
def test_a_form_that_is_not_known_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(HloTextError, match=says) as raised:
        parse(text)
    assert "libtpu 0.0.42" in str(raised.value)


def test_a_configuration_that_is_no_json_is_refused() -> None:
    with pytest.raises(HloTextError, match="configuration of a"):
        _ = parse_instruction("  %a = f32[] add(%b), backend_config={oops}").cycles


def test_a_missing_computation_is_refused() -> None:
    module = parse("ENTRY %m (x: f32[]) -> f32[] {\n  ROOT %x = f32[] parameter(0)\n}\n")
    with pytest.raises(HloTextError, match="no computation is called nobody"):
        _ = module["nobody"]
