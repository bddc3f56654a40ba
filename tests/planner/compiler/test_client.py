"""The compiler answers from another process: figures, refusals, and the same again from the cache."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from colab_tpu_magic.planner.compiler import Cache, Compiled, Compiler, CompilerEnvironment, Refused
from colab_tpu_magic.planner.targets import TARGETS, target

from ..conftest import workers
from ..steps import DATA_PARALLEL, Step, matmul, step_from_text, step_of

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("nothing_is_left")]
ONE = target("v5e-1")
GIB = 2**30


def test_a_matrix_product_is_counted_exactly(compiler: Compiler) -> None:
    answer = compiler.compile(matmul(256, 512, 384), ONE)
    assert isinstance(answer, Compiled)
    assert answer.flops == 2 * 256 * 512 * 384
    assert answer.memory.argument == 4 * (256 * 512 + 512 * 384)
    assert answer.memory.output == 4 * 256 * 384 and answer.memory.alias == 0
    assert answer.cycles > 0 and not answer.as_text_failed
    assert "dot_general" in answer.costs[0].op_name
    assert (answer.jax, answer.libtpu[:6]) == ("0.10.2", "0.0.42")


def test_a_warm_worker_answers_the_next_question(compiler: Compiler) -> None:
    stages: list[str] = []
    compiler.compile(matmul(8, 128, 128), ONE)
    compiler.compile(matmul(16, 128, 128), ONE, stage=stages.append)
    assert stages == ["compiling", "reading"] and len(workers()) == 1


def test_data_parallel_steps_tell_their_all_reduce(compiler: Compiler) -> None:
    answer = compiler.compile(step_from_text(DATA_PARALLEL, 8), target("v2-8"))
    assert isinstance(answer, Compiled)
    reduced = [one for one in answer.unestimated if one.opcode == "all-reduce"]
    assert [(one.runs, one.bytes) for one in reduced] == [(1.0, 4 * 256 * 128)]
    assert answer.memory.alias == 4 * 256 * 128
    assert answer.flops == pytest.approx(2 * 1024 * 256 * 128 / 8, rel=0.02)


def test_out_of_memory_tells_both_sizes(compiler: Compiler) -> None:
    answer = compiler.compile(step_of(lambda x: x + 1, ((9 * GIB // 4,), "float32")), ONE)
    assert isinstance(answer, Refused) and answer.kind == "out-of-memory"
    assert answer.needed_bytes == 18 * GIB and answer.allowed_bytes == ONE.hbm_bytes
    assert answer.message == "Does not fit: 18.00 GiB needed on each device, 15.75 GiB there."


@pytest.mark.parametrize("name", ["v2-8", "v3-8", "v4-8", "v5e-4", "v5p-8", "v6e-4", "tpu7x-8"])
def test_every_chip_has_the_memory_that_its_target_says(compiler: Compiler, name: str) -> None:
    one = target(name)
    kind, replicated = "tensor<60000000000xf32>", '{mhlo.sharding = "{replicated}"}'
    text = f"""
    module @step attributes {{mhlo.num_partitions = {one.devices} : i32, mhlo.num_replicas = 1 : i32}} {{
      func.func public @main(%x: {kind} {replicated}) -> ({kind} {replicated}) {{
        %0 = stablehlo.add %x, %x : {kind}
        return %0 : {kind}
      }}
    }}"""
    answer = compiler.compile(step_from_text(text, one.devices), one)
    assert isinstance(answer, Refused) and answer.allowed_bytes == one.hbm_bytes
    assert answer.needed_bytes == pytest.approx(2 * 4 * 60e9, rel=0.01)


def test_donated_memory_is_counted_once(compiler: Compiler) -> None:
    answer = compiler.compile(step_of(lambda x: x + 1, ((9 * GIB // 4,), "float32"), donate=(0,)), ONE)
    assert isinstance(answer, Compiled) and answer.memory.peak == pytest.approx(9 * GIB, rel=0.01)


def test_what_the_compiler_does_not_know_is_unsupported(compiler: Compiler) -> None:
    text = """
    func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.custom_call @NobodyKnowsThis(%x) : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }"""
    answer = compiler.compile(step_from_text(text), ONE)
    assert isinstance(answer, Refused) and answer.kind == "unsupported"
    assert "NobodyKnowsThis" in answer.message


def test_bytes_that_are_no_module_are_unsupported(compiler: Compiler) -> None:
    answer = compiler.compile(Step(b"not a module"), ONE)
    assert isinstance(answer, Refused) and answer.kind == "unsupported"


def test_a_step_for_other_devices_is_refused_before_anything_starts(compiler: Compiler) -> None:
    with pytest.raises(ValueError, match="1 devices, v2-8 has 8"):
        compiler.compile(matmul(), target("v2-8"))


def test_every_target_has_the_devices_that_it_says(compiler_environment: CompilerEnvironment) -> None:
    from colab_tpu_magic.planner.compiler.process import Worker

    worker, found = Worker(compiler_environment), {}
    try:
        for one in TARGETS.values():
            request = {"ask": "devices", "topology": one.topology, "arguments": dict(one.topology_arguments)}
            header, _ = worker.ask(request, deadline=time.monotonic() + 60, memory_bytes=8 * GIB)
            found[one.name] = (header.get("devices"), header.get("kind"))
    finally:
        worker.kill()
    assert found == {one.name: (one.devices, one.chip.device_kind) for one in TARGETS.values()}


def test_threads_compile_at_once_each_with_a_worker(compiler: Compiler) -> None:
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda rows: compiler.compile(matmul(rows, 256, 128), ONE), (64, 128)))
    assert [answer.flops for answer in answers if isinstance(answer, Compiled)] == [
        2 * 64 * 256 * 128,
        2 * 128 * 256 * 128,
    ]


def test_the_second_question_needs_no_compiler(compiler_environment: CompilerEnvironment, tmp_path: Path) -> None:
    step = matmul()
    with Compiler(compiler_environment, Cache(tmp_path)) as first:
        answer = first.compile(step, ONE)
    gone = CompilerEnvironment("/nowhere/python", compiler_environment.jax, compiler_environment.libtpu, "this Python")
    with Compiler(gone, Cache(tmp_path)) as second:
        begun = time.monotonic()
        assert second.compile(step, ONE) == answer
        assert time.monotonic() - begun < 1
