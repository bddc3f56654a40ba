"""What is chosen in a simulation and on each machine with a TPU."""

import pytest

from colab_tpu_magic.backends.choice import Choice, choose
from colab_tpu_magic.errors import ConnectError, OptionError
from colab_tpu_magic.hardware.slices import parse_slice
from colab_tpu_magic.options import ConnectOptions

from .. import machines
from ..machines import (
    COLAB_V5E1,
    COLAB_V5E1_TENSORFLOW,
    KAGGLE_V5E8,
    NOTHING,
    V2_8_TPU_VM,
    Machine,
)

JAX_TPU = "JAX can drive it, and is what Keras itself is tested with on TPUs."


@pytest.mark.parametrize(
    ("name", "backend", "kind", "slice_", "replicas"),
    [
        ("colab v5e-1", "jax", "tpu", "v5e-1", 1),
        ("colab v5e-1 with tensorflow", "jax", "tpu", "v5e-1", 1),
        ("colab v6e-1", "jax", "tpu", "v6e-1", 1),
        ("kaggle v5e-8", "jax", "tpu", "v5e-8", 8),
        ("v2-8 TPU VM", "tensorflow", "tpu", "v2-8", 8),
        ("legacy node", "jax", "cpu", None, 1),
        ("gpu", "jax", "gpu", None, None),
        ("nothing", "jax", "cpu", None, 1),
    ],
)
def test_each_recorded_machine_gets_its_runtime(chosen, name, backend, kind, slice_, replicas):
    choice = chosen(machines.ALL[name])
    assert (choice.backend, choice.kind, choice.replicas) == (backend, kind, replicas)
    assert choice.slice == (parse_slice(slice_) if slice_ else None)


def test_a_choice_is_complete(chosen):
    assert chosen(COLAB_V5E1) == Choice(
        backend="jax",
        kind="tpu",
        slice=parse_slice("v5e-1"),
        replicas=1,
        reasons=("A TPU was found (1 PCI device, 1 device file, COLAB_TPU_1VM).", JAX_TPU),
        warnings=(),
    )


def test_the_first_choice_on_every_recorded_machine_but_the_legacy_node_has_no_warning(chosen, tmp_path):
    warned = [
        name
        for name, machine in machines.ALL.items()
        if choose(machine.detect(tmp_path / name), ConnectOptions()).warnings
    ]
    assert warned == ["legacy node"]


# Simulation


@pytest.mark.parametrize("name", machines.ALL)
def test_a_slice_is_simulated_on_any_machine_that_has_a_backend(chosen, name):
    choice = chosen(machines.ALL[name], simulate="v2-8")
    assert (choice.kind, choice.slice, choice.replicas) == ("simulated", parse_slice("v2-8"), 8)
    assert choice.backend == ("tensorflow" if name == "v2-8 TPU VM" else "jax")


def test_a_simulated_number_has_no_slice(chosen):
    choice = chosen(NOTHING, simulate=3)
    assert (choice.slice, choice.replicas) == (None, 3)
    assert choice.reasons == (
        "3 replicas, simulated as asked, on virtual CPU devices.",
        "JAX is installed and nothing else was asked for.",
    )


def test_one_simulated_replica_is_singular(chosen):
    assert chosen(NOTHING, simulate="v5e-1").reasons[0] == (
        "v5e-1 has 1 replica, simulated as asked, on virtual CPU devices."
    )


def test_simulation_keeps_the_backend_of_an_imported_keras(chosen):
    choice = chosen(NOTHING.having(modules=machines.keras("tensorflow")), simulate=2)
    assert choice.backend == "tensorflow"
    assert choice.reasons[1] == "Keras is already imported with the TensorFlow backend."
    assert choice.warnings == ()


def test_simulation_on_tensorflow_says_that_eight_replicas_are_slow(chosen):
    choice = chosen(NOTHING, simulate="v2-8", backend="tensorflow")
    assert choice.warnings == ("8 TensorFlow replicas on one CPU are slow to start; JAX is quicker here.",)


def test_simulation_beside_a_tpu_says_that_the_tpu_rests(chosen):
    choice = chosen(COLAB_V5E1, simulate="v2-8")
    assert choice.warnings == ("A TPU is here and stays unused; %tpu_connect without --simulate uses it.",)


def test_simulation_with_the_other_backend_than_the_imported_one_needs_a_restart(refused):
    error = refused(NOTHING.having(modules=machines.keras("jax")), simulate=2, backend="tensorflow")
    assert error.what == (
        "Keras is already imported with the JAX backend, and keeps it until the kernel restarts. "
        "The TensorFlow backend was asked for."
    )
    assert error.type_next == "%tpu_connect --restart --backend tensorflow"


@pytest.mark.parametrize("simulate", [0, 257, "v2-3", "v2-1024", "banana", "1.5"])
def test_what_cannot_be_simulated_is_refused_before_anything_else(chosen, simulate):
    with pytest.raises(OptionError):
        chosen(Machine(), simulate=simulate)


# A TPU


def test_kaggles_tensorflow_for_cpus_is_explained_and_jax_offered(refused):
    error = refused(KAGGLE_V5E8, backend="tensorflow")
    assert error.what == (
        "The installed tensorflow-cpu 2.20.0 was built without TPU support: training on the TPU v5e-8 would end in "
        "\"No OpKernel was registered to support Op 'ConfigureDistributedTPU'\"."
    )
    assert error.expected == (
        "tensorflow-tpu, or JAX. Keras 3 on JAX trains the same code: tf.keras is that Keras 3 from TensorFlow 2.16 on."
    )
    assert error.type_next == "%tpu_connect --backend jax"


def test_the_plain_wheel_beside_jaxs_libtpu_cannot_drive_a_tpu(refused):
    error = refused(COLAB_V5E1_TENSORFLOW, backend="tensorflow")
    assert "tensorflow 2.20.0 was built without TPU support" in error.what
    assert "ConfigureDistributedTPU" in error.what


def test_keras_imported_with_a_tensorflow_that_cannot_drive_the_tpu_needs_a_restart(refused):
    error = refused(COLAB_V5E1_TENSORFLOW.having(modules=machines.keras("tensorflow")))
    assert error.what == (
        "Keras is already imported with the TensorFlow backend, and keeps it until the kernel restarts. "
        "The installed TensorFlow was built without TPU support; JAX here can drive the TPU."
    )
    assert error.expected == "a fresh kernel that connects before it imports Keras, to choose JAX."
    assert error.type_next == "%tpu_connect --restart --backend jax"


def test_asking_for_that_tensorflow_again_leads_to_a_restart_with_jax(refused):
    machine = COLAB_V5E1_TENSORFLOW.having(modules=machines.keras("tensorflow"))
    assert refused(machine, backend="tensorflow").type_next == "%tpu_connect --restart --backend jax"


def test_tensorflow_asked_for_where_none_is_installed_leads_to_jax(refused):
    error = refused(COLAB_V5E1, backend="tensorflow")
    assert error.what == "The TensorFlow backend was asked for on the TPU v5e-1, and no TensorFlow is installed."
    assert error.type_next == "%tpu_connect --backend jax"


@pytest.mark.parametrize("loaded", ["torch", "numpy", "openvino"])
def test_keras_imported_with_a_backend_that_is_neither_needs_a_restart(refused, loaded):
    for machine in (COLAB_V5E1, NOTHING):
        error = refused(machine.having(modules=machines.keras(loaded)))
        assert error.what.startswith(f"Keras is already imported with the {loaded} backend")
        assert error.type_next == "%tpu_connect --restart --backend jax"


def test_keras_already_on_jax_is_the_reason_for_jax(chosen):
    choice = chosen(COLAB_V5E1.having(modules=machines.keras("jax")))
    assert choice.reasons[1] == "Keras is already imported with the JAX backend."


def test_a_tpu_without_a_libtpu_gets_the_line_that_keeps_the_installed_jax(refused):
    error = refused(COLAB_V5E1.without("libtpu"))
    assert error.what == (
        "There is a TPU v5e-1, and JAX cannot drive it with what is installed (jax 0.7.2, no libtpu)."
    )
    assert error.expected == "jax with the libtpu that belongs to it."
    assert error.type_next == '%pip install "jax[tpu]==0.7.2"\n%tpu_connect --backend jax'


def test_a_restart_is_part_of_the_line_when_jax_is_imported(refused):
    machine = COLAB_V5E1.without("libtpu").having(modules={"jax": object()})
    assert refused(machine).type_next == '%pip install "jax[tpu]==0.7.2"\n%tpu_connect --restart --backend jax'


def test_a_tpu_without_any_framework_gets_jax(refused):
    error = refused(COLAB_V5E1.without("libtpu", "jax", "jaxlib"))
    assert error.what.endswith("JAX cannot drive it with what is installed (no libtpu).")
    assert error.type_next == '%pip install "jax[tpu]"\n%tpu_connect --backend jax'


def test_a_libtpu_named_by_its_variable_will_do(chosen):
    machine = COLAB_V5E1.without("libtpu").having(environ={"TPU_LIBRARY_PATH": "/opt/libtpu.so"})
    assert (chosen(machine).backend, chosen(machine).kind) == ("jax", "tpu")


def test_tensorflow_tpu_alone_is_the_reason_for_tensorflow(chosen):
    assert chosen(V2_8_TPU_VM).reasons[1] == "TensorFlow is the only installed framework that can drive it."


def test_a_jax_that_fits_the_libtpu_comes_before_tensorflow_tpu(chosen):
    fitting = V2_8_TPU_VM.having(packages={"jax": "0.7.2", "jaxlib": "0.7.2", "libtpu": "0.0.23"})
    assert chosen(fitting).backend == "jax"
    assert chosen(fitting, backend="tensorflow").backend == "tensorflow"


def test_the_libtpu_of_tensorflow_tpu_is_none_of_jaxs(chosen, refused):
    machine = V2_8_TPU_VM.having(packages={"jax": "0.10.2", "jaxlib": "0.10.2"})
    assert chosen(machine).backend == "tensorflow"
    assert refused(machine, backend="jax").type_next.startswith('%pip install "jax[tpu]==0.10.2"')


def test_a_tensorflow_of_the_machines_own_image_can_drive_its_tpu(chosen):
    machine = V2_8_TPU_VM.without("tensorflow-tpu", "libtpu").having(
        packages={"tensorflow": "2.17.0"}, files={"lib/libtpu.so": ""}
    )
    assert (chosen(machine).backend, chosen(machine).kind) == ("tensorflow", "tpu")


def test_tpu_strategy_on_a_v5e_is_said_to_be_untried(chosen):
    machine = COLAB_V5E1.having(packages={"tensorflow-tpu": "2.20.0"})
    assert chosen(machine, backend="tensorflow").warnings == (
        "Nobody has published a run of TPUStrategy on a v5e notebook; JAX is the tried way.",
    )


def test_tensorflow_on_tpu7x_is_refused(refused):
    machine = Machine(files=machines.pci(4, "0x0076"), packages={"tensorflow-tpu": "2.20.0", "keras": "3.13.2"})
    error = refused(machine)
    assert error.what == "TensorFlow is not supported on TPU7x, by Google's own documentation."


def test_a_held_tpu_names_the_process_and_deletes_nothing(refused, tmp_path):
    lock = {"tmp/libtpu_lockfile": ""}
    error = refused(COLAB_V5E1.having(files={**machines.held(), **lock}))
    assert error.what == (
        "The TPU v5e-1 is in use by process 999999 (/usr/bin/python3 -m ipykernel_launcher), "
        "and one process owns it at a time."
    )
    assert error.type_next == "!ps -fp 999999\n%tpu_connect"
    assert (tmp_path / "root0/tmp/libtpu_lockfile").exists()


def test_a_held_tpu_does_not_stop_a_simulation(chosen):
    assert chosen(COLAB_V5E1.having(files=machines.held()), simulate=2).kind == "simulated"


def test_a_lock_file_alone_stops_nothing(chosen):
    assert chosen(COLAB_V5E1.having(files={"tmp/libtpu_lockfile": ""})).kind == "tpu"


def test_a_slice_over_several_machines_is_refused_instead_of_waiting_for_ever(refused):
    error = refused(COLAB_V5E1.having(environ={"TPU_WORKER_HOSTNAMES": "a,b"}))
    assert error.what.startswith("This TPU slice spans 2 machines")
    assert error.type_next == "%tpu_connect --simulate v5e-8"


def test_jax_platforms_that_hide_the_tpu_are_named(chosen):
    choice = chosen(COLAB_V5E1.having(environ={"JAX_PLATFORMS": "cpu"}))
    assert choice.kind == "cpu"
    assert choice.warnings == (
        "A TPU is here, and JAX_PLATFORMS=cpu hides it from JAX: delete that variable and restart to use it.",
    )
    assert chosen(COLAB_V5E1.having(environ={"JAX_PLATFORMS": "tpu,cpu"})).kind == "tpu"
    assert chosen(V2_8_TPU_VM.having(environ={"JAX_PLATFORMS": "cpu"})).kind == "tpu"


def test_a_tpu_of_unknown_size_is_counted_after_initialising(chosen):
    machine = Machine(
        files={"dev/accel0": ""}, packages={"jax": "0.7.2", "jaxlib": "0.7.2", "libtpu": "0.0.23", "keras": "3.13.2"}
    )
    choice = chosen(machine)
    assert (choice.kind, choice.slice, choice.replicas) == ("tpu", None, None)


# All of it together


@pytest.mark.parametrize("backend", ["auto", "jax", "tensorflow"])
@pytest.mark.parametrize("loaded", [None, "jax", "tensorflow", "torch"])
@pytest.mark.parametrize("name", machines.ALL)
def test_every_refusal_says_what_and_which_line_to_type(tmp_path, name, loaded, backend):
    modules = machines.keras(loaded) if loaded else {}
    environment = machines.ALL[name].having(modules=modules).detect(tmp_path)
    try:
        choice = choose(environment, ConnectOptions(backend=backend))
    except ConnectError as error:
        assert error.what
        assert error.expected
        assert all(line.startswith(("%pip install ", "%tpu_connect", "!ps ")) for line in error.type_next.splitlines())
    else:
        assert choice.backend == (loaded or (backend if backend != "auto" else choice.backend))
        assert len(choice.reasons) == 2


def test_choosing_changes_nothing_and_is_repeatable(tmp_path):
    environment = KAGGLE_V5E8.detect(tmp_path)
    assert choose(environment, ConnectOptions()) == choose(environment, ConnectOptions())


def test_keras_3_that_is_too_old_is_refused_with_its_line(refused):
    error = refused(NOTHING.having(packages={"keras": "3.9.2"}))
    assert error.what == "keras 3.9.2 is installed, which is too old."


def test_keras_on_torch_is_told_which_backend_can_train(refused):
    error = refused(NOTHING.having(modules=machines.keras("torch")))
    assert "JAX can." in error.what and "asked for" not in error.what
    assert error.type_next == "%tpu_connect --restart --backend jax"


def test_only_tensorflow_can_drive_the_tpu_and_keras_is_on_jax(refused):
    machine = machines.V2_8_TPU_VM.having(modules=machines.keras("jax"))
    error = refused(machine)
    assert "Only the installed TensorFlow can drive this TPU." in error.what
    assert error.type_next == "%tpu_connect --restart --backend tensorflow"
