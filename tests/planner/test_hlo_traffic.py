"""What an instruction reads from memory and writes to it is counted by the layouts of the compiled text."""

from __future__ import annotations

import pytest

from colab_tpu_magic.planner.hlo_text import parse
from colab_tpu_magic.planner.hlo_traffic import has_product, hbm_bytes, moved_bytes

ROWS = "f32[1000,256]{1,0:T(8,128)}"
SIZE = 1000 * 256 * 4
ONE = "f32[1,256]{1,0:T(8,128)}"
PART = 8 * 256 * 4
"""Bytes of one row: a tile has eight."""


def moved(*lines: str, inner: tuple[str, ...] = ()) -> int:
    """Return what the last of some instructions moves; ``inner`` is a computation called ``%inner``."""
    text = ""
    for name, body in (("inner", inner), ("ENTRY main", lines)):
        if body:
            entry, _, plain = name.rpartition(" ")
            text += f"{entry} %{plain} (p: f32[8]) -> f32[8] {{\n".lstrip()
            text += "".join(f"  {'ROOT ' * (line == body[-1])}{line}\n" for line in body) + "}\n\n"
    module = parse(text)
    main = module[module.entry]
    return moved_bytes(module, main, main.root)


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("f32[256,10]{1,0:T(8,128)}", 256 * 128 * 4),
        ("f32[256,10]{0,1:T(8,128)}", 256 * 16 * 4),  # the axis that lies side by side is the first
        ("bf16[250,10]{1,0:T(8,128)(2,1)}", 256 * 128 * 2),
        ("f32[3,3,64,10]{3,2,1,0:T(8,128)}", 9 * 64 * 128 * 4),
        ("f32[100]{0:T(128)}", 128 * 4),
        ("f32[100]{0:T(128)S(1)}", 0),  # the core's own memory
        ("f32[100]{0}", 400),
        ("f32[]", 4),
        ("(f32[8,128]{1,0:T(8,128)S(1)}, pred[8,128]{1,0:T(8,128)(4,1)})", 1024),
        ("u32[]{:S(2)}", 0),
    ],
)
def test_an_array_takes_whole_tiles_and_only_where_it_lies_in_memory(shape, size):
    assert hbm_bytes(shape) == size


def test_operands_are_read_and_results_written_each_once():
    a, b = f"%a = {ROWS} parameter(0)", f"%b = {ROWS} parameter(1)"
    assert moved(a, b, f"%c = {ROWS} add(%a, %b)") == 3 * SIZE
    assert moved(a, f"%c = {ROWS} multiply(%a, %a)") == 2 * SIZE


def test_what_stays_on_the_core_moves_nothing():
    a = "%a = f32[1000,256]{1,0:T(8,128)S(1)} parameter(0)"
    assert moved(a, "%c = f32[1000,256]{1,0:T(8,128)S(1)} add(%a, %a)") == 0
    assert moved(a, f"%c = {ROWS} add(%a, %a)") == SIZE


def test_a_copy_that_starts_moves_what_arrives():
    a = f"%a = {ROWS} parameter(0)"
    start = f"(f32[1000,256]{{1,0:T(8,128)S(1)}}, {ROWS}, u32[]{{:S(2)}}) copy-start(%a)"
    assert moved(a, f"%c = {start}") == SIZE
    part = f"(({ROWS}), f32[1,256]{{1,0:T(8,128)S(1)}}, u32[]{{:S(2)}}) slice-start(%a), slice={{[0:1], [0:256]}}"
    assert moved(a, f"%c = {part}") == PART


def test_of_what_is_cut_the_part_is_read():
    a, i = f"%a = {ROWS} parameter(0)", "%i = s32[]{:T(128)S(6)} parameter(1)"
    assert moved(a, i, f"%c = {ONE} dynamic-slice(%a, %i, %i), dynamic_slice_sizes={{1,256}}") == 2 * PART
    inner = (
        f"%p = {ROWS} parameter(0)",
        "%j = s32[]{:T(128)} parameter(1)",
        "%same = f32[1000,256]{1,0:T(8,128)} bitcast(%p)",
        f"%s = {ONE} dynamic-slice(%same, %j, %j), dynamic_slice_sizes={{1,256}}",
        f"%r = {ONE} add(%s, %s)",
    )
    assert moved(a, i, f"%c = {ONE} fusion(%a, %i), kind=kLoop, calls=%inner", inner=inner) == 2 * PART


def test_what_is_cut_and_used_whole_as_well_is_read_once():
    inner = (
        f"%p = {ROWS} parameter(0)",
        "%j = s32[]{:T(128)} parameter(1)",
        f"%s = {ONE} dynamic-slice(%p, %j, %j), dynamic_slice_sizes={{1,256}}",
        f"%t = {ROWS} broadcast(%s), dimensions={{0,1}}",
        f"%r = {ROWS} add(%p, %t)",
    )
    a, i = f"%a = {ROWS} parameter(0)", "%i = s32[]{:T(128)S(6)} parameter(1)"
    assert moved(a, i, f"%c = {ROWS} fusion(%a, %i), kind=kLoop, calls=%inner", inner=inner) == 2 * SIZE


def test_of_what_is_written_in_place_the_part_counts():
    lines = (
        f"%a = {ROWS} parameter(0)",
        f"%u = {ONE} parameter(1)",
        "%i = s32[]{:T(128)S(6)} parameter(2)",
    )
    assert moved(*lines, f"%c = {ROWS} dynamic-update-slice(%a, %u, %i, %i)") == 2 * PART
    inner = (
        f"%p = {ROWS} parameter(0)",
        f"%v = {ONE} parameter(1)",
        "%j = s32[]{:T(128)} parameter(2)",
        f"%r = {ROWS} dynamic-update-slice(%p, %v, %j, %j)",
    )
    assert moved(*lines, f"%c = {ROWS} fusion(%a, %u, %i), kind=kLoop, calls=%inner", inner=inner) == 2 * PART
    two = (*inner[:3], f"%w = {ROWS} dynamic-update-slice(%p, %v, %j, %j)", f"%r = ({ROWS}, {ONE}) tuple(%w, %v)")
    assert moved(*lines, f"%c = ({ROWS}, {ONE}) fusion(%a, %u, %i), kind=kLoop, calls=%inner", inner=two) == 3 * PART


def test_an_operand_that_nothing_defines_moves_nothing():
    assert moved(f"%c = {ROWS} negate(%elsewhere)") == SIZE


@pytest.mark.parametrize(("opcode", "product"), [("convolution", True), ("dot", True), ("add", False)])
def test_a_product_is_found_in_a_fusion_within_a_fusion(opcode, product):
    def fused(name: str, *lines: str) -> str:
        return f"%{name} (p: f32[8]) -> f32[8] {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n\n"

    text = fused("deep", f"%p = {ROWS} parameter(0)", f"ROOT %r = {ROWS} {opcode}(%p, %p)")
    text += fused("inner", f"%q = {ROWS} parameter(0)", f"ROOT %f = {ROWS} fusion(%q), kind=kOutput, calls=%deep")
    text += "ENTRY " + fused("main", f"%a = {ROWS} parameter(0)", f"ROOT %c = {ROWS} fusion(%a), calls=%inner")
    module = parse(text)
    assert has_product(module, module["main"].root) is product
    assert not has_product(module, module["main"].instructions[0])
