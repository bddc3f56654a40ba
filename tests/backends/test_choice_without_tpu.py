"""What is chosen where there is no TPU, and with which versions."""

import pytest

from ..machines import COLAB_V5E1, GPU_MACHINE, LEGACY_NODE, NOTHING, Machine

# No TPU


def test_a_legacy_node_is_explained_and_the_cpu_trains(chosen):
    assert chosen(LEGACY_NODE).warnings == (
        "COLAB_TPU_ADDR=10.1.2.3:8470 points to a TPU node, which Google has retired: nothing can connect to it any "
        "more. In Colab choose Runtime, Change runtime type, v5e-1 TPU.",
    )


def test_a_variable_without_a_tpu_is_reported(chosen):
    choice = chosen(NOTHING.having(environ={"TPU_ACCELERATOR_TYPE": "v5e-8"}))
    assert choice.kind == "cpu"
    assert choice.warnings == (
        "TPU_ACCELERATOR_TYPE=v5e-8 is set, but neither PCI nor /dev shows a TPU on this machine.",
    )


def test_a_gpu_is_named(chosen):
    assert chosen(GPU_MACHINE).reasons == (
        "No TPU was found; Tesla T4 was.",
        "JAX is installed and nothing else was asked for.",
    )


def test_tensorflow_takes_the_gpu_when_jax_has_no_plugin(chosen):
    choice = chosen(GPU_MACHINE.without("jax-cuda12-plugin"))
    assert (choice.backend, choice.kind) == ("tensorflow", "gpu")


def test_jax_asked_for_without_its_plugin_trains_on_the_cpu_and_says_so(chosen):
    choice = chosen(GPU_MACHINE.without("jax-cuda12-plugin"), backend="jax")
    assert (choice.kind, choice.replicas) == ("cpu", 1)
    assert choice.warnings == (
        "Tesla T4 is here, and the installed jax cannot use it. "
        'Type %pip install "jax[cuda12]==0.10.2" and restart to use it.',
    )


def test_keras_backend_set_by_the_user_is_kept_without_a_tpu(chosen):
    choice = chosen(NOTHING.having(environ={"KERAS_BACKEND": "tensorflow"}))
    assert choice.backend == "tensorflow"
    assert choice.reasons[1] == "KERAS_BACKEND=tensorflow is set."


def test_keras_backend_set_by_the_user_is_replaced_on_a_tpu_and_said(chosen):
    choice = chosen(COLAB_V5E1.having(environ={"KERAS_BACKEND": "tensorflow"}))
    assert choice.backend == "jax"
    assert choice.warnings == (
        "KERAS_BACKEND=tensorflow is set and was replaced by jax; %tpu_connect --backend tensorflow keeps it.",
    )


def test_a_backend_that_was_asked_for_needs_no_word_about_keras_backend(chosen):
    machine = NOTHING.having(environ={"KERAS_BACKEND": "jax"})
    assert chosen(machine, backend="tensorflow", simulate=2).warnings == ()


def test_keras_backend_torch_is_replaced_and_said(chosen):
    choice = chosen(NOTHING.having(environ={"KERAS_BACKEND": "torch"}))
    assert (choice.backend, choice.warnings) == ("jax", ("KERAS_BACKEND=torch is set and was replaced by jax.",))


def test_tensorflow_alone_trains_on_the_cpu(chosen):
    assert chosen(NOTHING.without("jax", "jaxlib")).backend == "tensorflow"


def test_a_backend_that_is_not_installed_gets_its_line(refused):
    assert refused(NOTHING.without("jax"), backend="jax").type_next == (
        '%pip install "jax>=0.6"\n%tpu_connect --backend jax'
    )
    assert refused(NOTHING.without("tensorflow"), backend="tensorflow").what == (
        "The TensorFlow backend needs tensorflow, which is not installed."
    )


def test_no_framework_at_all_asks_for_jax(refused):
    assert refused(Machine(packages={"keras": "3.15.1"})).type_next.startswith('pip install "jax>=0.6"')


def test_keras_missing_or_too_old_gets_its_line(refused):
    assert refused(NOTHING.without("keras")).what == "Keras is not installed."
    error = refused(NOTHING.having(packages={"keras": "2.15.0"}))
    assert error.what == "keras 2.15.0 is installed, which is too old."
    assert error.type_next == '%pip install "keras>=3.10"\n%tpu_connect'


# Versions


@pytest.mark.parametrize(
    ("packages", "text"),
    [
        ({"jaxlib": "0.7.2"}, "jax 0.10.2 and jaxlib 0.7.2 do not belong together"),
        ({"tensorflow-cpu": "2.21.0"}, "tensorflow 2.21.0, tensorflow-cpu 2.21.0 are installed together"),
        ({"tensorflow": "2.15.1", "numpy": "1.26.4"}, "In tensorflow 2.15.1, tf.keras is Keras 2"),
        ({"tensorflow": "2.17.1"}, "tensorflow 2.17.1 was built for NumPy 1, and numpy 2.4.6 is installed"),
    ],
)
def test_versions_that_do_not_work_together_are_reported_with_a_source(chosen, packages, text):
    (warning,) = chosen(NOTHING.having(packages=packages)).warnings
    assert warning.startswith(text)
    assert "(Source: " in warning


def test_a_libtpu_that_jax_does_not_ask_for_is_reported_on_a_tpu_only(chosen):
    other = {"libtpu": "0.0.17"}
    assert chosen(COLAB_V5E1.having(packages=other)).warnings == (
        "jax 0.7.2 asks for libtpu 0.0.23.* or 0.0.21.*, and libtpu 0.0.17 is installed. "
        "(Source: the METADATA of jax[tpu], read 2026-11.)",
    )
    assert chosen(NOTHING.having(packages=other)).warnings == ()


def test_jaxlib_of_another_patch_release_is_fine(chosen):
    assert chosen(NOTHING.having(packages={"jaxlib": "0.10.1"})).warnings == ()


@pytest.mark.parametrize(
    ("python", "warns"), [("3.10.14", True), ("3.11.0", False), ("3.13.15", False), ("3.14.0", True)]
)
def test_a_python_that_not_all_frameworks_support_is_reported(monkeypatch, chosen, python, warns):
    monkeypatch.setattr("platform.python_version", lambda: python)
    assert any(f"Python {python} is outside" in warning for warning in chosen(NOTHING).warnings) is warns


def test_keras_2_behind_tf_keras_is_reported_for_each_backend(chosen):
    machine = NOTHING.having(environ={"TF_USE_LEGACY_KERAS": "1"})
    (on_jax,) = chosen(machine).warnings
    assert on_jax == (
        "TF_USE_LEGACY_KERAS is set, so tf.keras may be Keras 2 (tf_keras), which cannot train on JAX: "
        "use `import keras`, or delete that variable and restart."
    )
    (on_tensorflow,) = chosen(machine, backend="tensorflow").warnings
    assert "is not trained by %%tpu_fit" in on_tensorflow


def test_an_imported_tf_keras_is_reported(chosen):
    (warning,) = chosen(NOTHING.having(modules={"tf_keras": object()})).warnings
    assert warning.startswith("tf_keras is imported")
