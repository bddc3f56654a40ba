"""What the machine shows, on recorded machines."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from colab_tpu_magic.checking.environment_traps import ENVIRONMENT_TRAPS, find_in_environment

from .. import machines

JAX = {"KERAS_BACKEND": "jax"}
CASES = {
    "tpu-held": machines.COLAB_V5E1.having(files=machines.held(), environ=JAX),
    "wrong-wheel": machines.COLAB_V5E1_TENSORFLOW.having(environ={"KERAS_BACKEND": "tensorflow"}),
    "no-tensorflow": machines.COLAB_V5E1,
    "backend-after-import": machines.NOTHING.having(environ=JAX, modules=machines.keras("tensorflow")),
    "tpu-node": machines.LEGACY_NODE,
}


def traps(machine, root, runtime=None):
    return [finding.trap for finding in find_in_environment(machine.detect(root), runtime)]


def runtime(kind, backend="jax"):
    return SimpleNamespace(kind=kind, backend=backend, device="this machine's CPU")


@pytest.mark.parametrize("trap", CASES)
def test_a_machine_with_a_trap_shows_it_and_no_other(trap, tmp_path):
    assert traps(CASES[trap], tmp_path) == [trap]


@pytest.mark.parametrize("trap", CASES)
def test_every_finding_says_what_to_type(trap, tmp_path):
    (finding,) = find_in_environment(CASES[trap].detect(tmp_path))
    assert finding.type_next and finding.message.endswith((".", "fails."))


@pytest.mark.parametrize(
    "machine",
    [
        machines.NOTHING,
        machines.GPU_MACHINE,
        machines.COLAB_V5E1.having(environ=JAX),
        machines.KAGGLE_V5E8.having(environ=JAX),
        machines.V2_8_TPU_VM.having(environ={"KERAS_BACKEND": "tensorflow"}),
        machines.NOTHING.having(environ=JAX, modules=machines.keras("jax")),
    ],
)
def test_a_machine_without_a_trap_shows_nothing(machine, tmp_path):
    assert traps(machine, tmp_path) == []


def test_a_training_on_the_cpu_beside_a_tpu_is_told(tmp_path):
    machine = machines.COLAB_V5E1.having(environ=JAX)
    assert traps(machine, tmp_path, runtime("simulated")) == ["unused-tpu"]


def test_a_training_on_the_tpu_is_fine(tmp_path):
    assert traps(machines.COLAB_V5E1.having(environ=JAX), tmp_path, runtime("tpu")) == []


def test_versions_that_do_not_fit_are_told(tmp_path):
    machine = machines.NOTHING.having(packages={"jaxlib": "0.7.2"})
    assert traps(machine, tmp_path, runtime("cpu")) == ["versions"]


def test_the_holder_of_the_tpu_is_named_by_its_process(tmp_path):
    (finding,) = find_in_environment(CASES["tpu-held"].detect(tmp_path))
    assert f"process {machines.HOLDER}" in finding.message
    assert finding.type_next == f"!ps -fp {machines.HOLDER}"


def test_every_trap_of_the_machine_is_tested_here():
    assert {trap.id for trap in ENVIRONMENT_TRAPS} == {*CASES, "unused-tpu", "versions"}
