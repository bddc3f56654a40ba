import pytest

from colab_tpu_magic.backends.abilities import (
    drives_gpu,
    installed,
    jax_drives_tpu,
    platform_allowed,
    tensorflow_drives_tpu,
)
from colab_tpu_magic.hardware.environment import Environment


def environment(*packages, system_libtpu="", **variables):
    versions = dict(package.split("==") for package in packages)
    return Environment("jupyter", "3.12.9", versions, variables=variables, system_libtpu=system_libtpu)


JAX = ("jax==0.7.2", "jaxlib==0.7.2")


@pytest.mark.parametrize(
    ("packages", "able"),
    [
        (JAX, False),
        ((*JAX, "libtpu==0.0.23"), True),
        ((*JAX, "libtpu==0.0.99"), True),
        ((*JAX, "libtpu==0.0.12", "tensorflow-tpu==2.19.1"), False),
        ((*JAX, "libtpu==0.0.23", "tensorflow-tpu==2.20.0"), True),
        (("jax==0.7.2", "libtpu==0.0.23"), False),
        (("libtpu==0.0.23",), False),
    ],
)
def test_jax_drives_a_tpu_with_a_libtpu_of_its_own(packages, able):
    assert jax_drives_tpu(environment(*packages)) is able


def test_jax_ignores_the_libtpu_of_the_image_unless_a_variable_names_it():
    assert not jax_drives_tpu(environment(*JAX, system_libtpu="/lib/libtpu.so"))
    assert jax_drives_tpu(environment(*JAX, TPU_LIBRARY_PATH="/lib/libtpu.so"))


@pytest.mark.parametrize(
    ("packages", "system_libtpu", "able"),
    [
        (("tensorflow-tpu==2.20.0",), "", True),
        (("tensorflow==2.20.0",), "", False),
        (("tensorflow==2.20.0", "libtpu==0.0.21.1"), "", False),
        (("tensorflow==2.17.0",), "/lib/libtpu.so", True),
        (("tensorflow==2.17.0", "libtpu==0.0.21.1"), "/lib/libtpu.so", False),
        (("tensorflow-cpu==2.20.0",), "/lib/libtpu.so", False),
        ((), "/lib/libtpu.so", False),
    ],
)
def test_tensorflow_drives_a_tpu_when_it_was_built_for_one(packages, system_libtpu, able):
    assert tensorflow_drives_tpu(environment(*packages, system_libtpu=system_libtpu)) is able


@pytest.mark.parametrize("wheel", ["tensorflow", "tensorflow-cpu", "tensorflow-tpu"])
def test_each_tensorflow_wheel_installs_the_backend(wheel):
    assert installed(environment(f"{wheel}==2.20.0"), "tensorflow")
    assert drives_gpu(environment(f"{wheel}==2.20.0"), "tensorflow") is (wheel == "tensorflow")


def test_jax_needs_its_library():
    assert installed(environment(*JAX), "jax")
    assert not installed(environment("jax==0.7.2"), "jax")


def test_jax_drives_a_gpu_with_its_plugin_unless_the_platform_is_hidden():
    plugin = (*JAX, "jax-cuda13-plugin==0.7.2")
    assert not drives_gpu(environment(*JAX), "jax")
    assert drives_gpu(environment(*plugin), "jax")
    assert drives_gpu(environment(*plugin, JAX_PLATFORMS="cuda,cpu"), "jax")
    assert not drives_gpu(environment(*plugin, JAX_PLATFORMS="cpu"), "jax")


@pytest.mark.parametrize(
    ("setting", "allowed"), [("", True), ("tpu", True), ("tpu,cpu", True), ("cpu", False), ("proxy", False)]
)
def test_a_platform_is_allowed_unless_the_variable_leaves_it_out(setting, allowed):
    assert platform_allowed(environment(JAX_PLATFORMS=setting), "tpu") is allowed
