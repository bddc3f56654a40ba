"""Steps are known by what they compute: real modules, under other names and with other contents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from colab_tpu_magic.planner.heads import (
    Heads,
    digest_without_names,
    head_from_json,
    head_key,
    known_by_content,
    renamed,
)
from colab_tpu_magic.planner.module import Lowered
from colab_tpu_magic.planner.row import LayerShare
from colab_tpu_magic.planner.steps import Steps
from colab_tpu_magic.planner.targets import target

from .plans import lowered


def module(scope: str = "dense", factor: float = 2.0, rows: int = 8) -> bytes:
    """Return a small function as a portable module, its operation in a named scope."""
    import jax
    from jaxlib.mlir.dialects import stablehlo

    def step(x: Any) -> Any:
        with jax.named_scope(scope):
            return x * factor

    text = jax.jit(step).lower(jax.ShapeDtypeStruct((rows, 4), "float32")).compiler_ir("stablehlo")
    asm = text.operation.get_asm(enable_debug_info=True)
    return bytes(stablehlo.serialize_portable_artifact_str(asm, "1.8.0"))


def step(artifact: bytes, **values: Any) -> Lowered:
    return replace(lowered(), artifact=artifact, **values)


def test_other_names_are_the_same_step() -> None:
    one = step(module("dense"))
    other = step(module("dense_2"), layers=("a_1", "b_1"), optimizer="adam_1")
    other = replace(other, arguments=tuple(replace(argument, name=f"{argument.name}_1") for argument in one.arguments))
    assert one.digest() != other.digest()
    assert digest_without_names(one) == digest_without_names(other)


@pytest.mark.parametrize(
    "changed",
    [{"factor": 3.0}, {"rows": 16}],
)
def test_another_computation_is_another_step(changed: dict[str, Any]) -> None:
    assert digest_without_names(step(module())) != digest_without_names(step(module(**changed)))


def test_other_devices_layers_and_roles_are_another_step() -> None:
    one = step(module())
    others = [
        replace(one, devices=1),
        replace(one, layers=("a",)),
        replace(one, arguments=(replace(one.arguments[0], donated=True), *one.arguments[1:])),
    ]
    assert len({digest_without_names(each) for each in [one, *others]}) == 4


def test_a_head_is_kept_without_its_module_and_read_again(tmp_path: Path) -> None:
    head = known_by_content(step(module(), remarks=("Plain.",)))
    heads = Heads(tmp_path)
    key = head_key("witness", 8, 1024, "")
    assert heads.get(key) is None
    heads.put(key, head)
    read = heads.get(key)
    assert read == replace(head, artifact=b"")
    assert read.digest() == head.digest() and read.bytes_of("parameter") == 1000 and read.remarks == ("Plain.",)
    (kept,) = tmp_path.iterdir()
    assert b"module" not in kept.read_bytes() or json.loads(kept.read_text())["artifact"] == ""


def test_every_part_of_the_question_is_in_the_key() -> None:
    keys = {
        head_key(*asked)
        for asked in [("a", 8, 64, ""), ("b", 8, 64, ""), ("a", 1, 64, ""), ("a", 8, 32, ""), ("a", 8, 64, "bfloat16")]
    }
    assert len(keys) == 5


@pytest.mark.parametrize("text", ["", "{}", '{"arguments": 3}', "[]", '{"arguments": [], "layers": 1, "remarks": []}'])
def test_what_is_no_head_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        head_from_json(text)


def test_shares_are_told_under_the_names_of_now() -> None:
    known, now = lowered(layers=("conv", "dense")), lowered(layers=("conv_1", "dense_1"))
    shares = (LayerShare("dense", 0.3, 0.2), LayerShare("conv", 0.1, 0.1))
    assert [share.name for share in renamed(shares, known, now)] == ["dense_1", "conv_1"]


def test_an_answer_has_the_names_of_the_step_that_was_compiled_for_its_slice(tmp_path: Path) -> None:
    first = known_by_content(step(module("dense"), layers=("a", "b")))
    twin = known_by_content(step(module("dense_2"), layers=("a_1", "b_1")))
    steps = Steps(None, (None, None, None), heads=Heads(tmp_path))
    assert steps.named_at(first, target("v2-8"), cached=False) is first
    # The twin is known on v2-8 by the first one's names; on another slice it is compiled, under its own.
    assert steps.named_at(twin, target("v2-8"), cached=True).layers == ("a", "b")
    assert steps.named_at(twin, target("v3-8"), cached=False) is twin
    assert steps.named_at(first, target("v3-8"), cached=True).layers == ("a_1", "b_1")
    # Compiled anew where the answer was not kept: under the names of now.
    assert steps.named_at(twin, target("v2-8"), cached=False) is twin
    assert steps.named_at(first, target("v2-8"), cached=True).layers == ("a_1", "b_1")
