"""What a target says of its chip holds at the compiler's own border: the last step that fits, and the rate of a product."""

from __future__ import annotations

import pytest

from colab_tpu_magic.planner.compiler import Compiled, Compiler, Refused
from colab_tpu_magic.planner.targets import target

from ..steps import Step, step_from_text

pytestmark = [pytest.mark.compiler, pytest.mark.usefixtures("nothing_is_left")]
CHIPS = ["v2-8", "v3-8", "v4-8", "v5e-1", "v5p-8", "v6e-1", "tpu7x-8"]
MIB = 2**20
CUBE = 4096


def on_every_device(devices: int, arguments: str, result: str, body: str) -> Step:
    """Return a step that each device does all of."""
    whole = '{mhlo.sharding = "{replicated}"}'
    text = f"""
    module @step attributes {{mhlo.num_partitions = {devices} : i32, mhlo.num_replicas = 1 : i32}} {{
      func.func public @main({arguments.replace(";", f" {whole},")} {whole}) -> ({result} {whole}) {{
        {body}
        return %0 : {result}
      }}
    }}"""
    return step_from_text(text, devices)


def doubling(devices: int, size: int) -> Step:
    """Return a step that needs `size` bytes on each device: half for what it is given, half for its result."""
    kind = f"tensor<{size // MIB // 2 * MIB // 4}xf32>"
    return on_every_device(devices, f"%x: {kind}", kind, f"%0 = stablehlo.add %x, %x : {kind}")


@pytest.mark.parametrize("name", CHIPS)
def test_a_step_just_below_the_memory_of_a_device_fits_and_one_just_above_does_not(
    compiler: Compiler, name: str
) -> None:
    one = target(name)
    below, above = (compiler.compile(doubling(one.devices, int(part * one.hbm_bytes)), one) for part in (0.99, 1.01))
    assert isinstance(below, Compiled), below
    assert below.memory.peak == pytest.approx(0.99 * one.hbm_bytes, rel=0.002)
    assert isinstance(above, Refused) and above.kind == "out-of-memory"
    assert above.allowed_bytes == one.hbm_bytes < above.needed_bytes


@pytest.mark.parametrize("name", ["v5p-8", "v6e-1", "tpu7x-8"])
def test_a_large_product_comes_near_the_peak_at_the_clock_and_never_above_it(compiler: Compiler, name: str) -> None:
    """The chips whose clocks are inferred: were one a third slower or faster, its product would be outside."""
    one = target(name)
    kind = f"tensor<{CUBE}x{CUBE}xbf16>"
    product = f"%0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({kind}, {kind}) -> {kind}"
    answer = compiler.compile(on_every_device(one.devices, f"%x: {kind}; %w: {kind}", kind, product), one)
    assert isinstance(answer, Compiled)
    assert answer.flops == pytest.approx(2 * CUBE**3, rel=0.01)
    assert 0.75 < 2 * CUBE**3 / (answer.cycles / one.clock_hz) / one.peak_flops < 1.0
